/** Subscribes to an event: the listener is called when it happens, until the returned function is called. */
export type Subscribe = (listener: () => void) => () => void;

/** Resolves when the first of some events happens, as `once` of node:events does for one. Then nothing listens any more. */
export function onceAny(...events: readonly Subscribe[]): Promise<void> {
  return new Promise((resolve) => {
    const unsubscribes: (() => void)[] = [];
    let isOver = false;
    const happened = (): void => {
      isOver = true;
      for (const unsubscribe of unsubscribes.splice(0)) unsubscribe();
      resolve();
    };
    for (const subscribe of events) {
      if (isOver) return;
      const unsubscribe = subscribe(happened);
      if (isOver) unsubscribe();
      else unsubscribes.push(unsubscribe);
    }
  });
}

/** The event that so many milliseconds have passed. */
export const afterMs =
  (ms: number): Subscribe =>
  (happened) => {
    const timer = setTimeout(happened, Math.ceil(ms));
    return () => clearTimeout(timer);
  };

/** The event that a signal is aborted, or was before. */
export const onAbort =
  (signal: AbortSignal): Subscribe =>
  (happened) => {
    if (signal.aborted) happened();
    else signal.addEventListener('abort', happened, { once: true });
    return () => signal.removeEventListener('abort', happened);
  };

export class Listeners {
  readonly #listeners = new Set<() => void>();

  /** Calls a listener each time, until the returned function is called. */
  readonly add: Subscribe = (listener) => {
    const own = (): void => listener();
    this.#listeners.add(own);
    return () => void this.#listeners.delete(own);
  };

  call(): void {
    for (const listener of this.#listeners) listener();
  }
}
