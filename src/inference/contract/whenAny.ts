/** Something to wait for: calls back when it happens, until the returned function is called. */
export type Occasion = (happened: () => void) => () => void;

/** Resolves when the first of some occasions happens. Then none of them is listened to any more. */
export function whenAny(...occasions: readonly Occasion[]): Promise<void> {
  return new Promise((resolve) => {
    const cancels: (() => void)[] = [];
    let isOver = false;
    const happened = (): void => {
      isOver = true;
      for (const cancel of cancels.splice(0)) cancel();
      resolve();
    };
    for (const occasion of occasions) {
      if (isOver) return;
      const cancel = occasion(happened);
      if (isOver) cancel();
      else cancels.push(cancel);
    }
  });
}

/** So many milliseconds have passed. */
export const afterMs =
  (ms: number): Occasion =>
  (happened) => {
    const timer = setTimeout(happened, Math.ceil(ms));
    return () => clearTimeout(timer);
  };

/** A signal is aborted, or was before. */
export const onAbort =
  (signal: AbortSignal): Occasion =>
  (happened) => {
    if (signal.aborted) happened();
    signal.addEventListener('abort', happened);
    return () => signal.removeEventListener('abort', happened);
  };

/** Listeners of one kind of occasion. */
export class Listeners {
  readonly #listeners = new Set<() => void>();

  /** Calls a listener each time, until the returned function is called. */
  readonly add: Occasion = (listener) => {
    const own = (): void => listener();
    this.#listeners.add(own);
    return () => void this.#listeners.delete(own);
  };

  /** It happens now. */
  call(): void {
    for (const listener of this.#listeners) listener();
  }
}
