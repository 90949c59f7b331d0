/** A signal that Ctrl-C aborts; a second Ctrl-C ends the process at once. */
export interface Interrupt extends Disposable {
  readonly signal: AbortSignal;
}

/** What a shell reports of a process that SIGINT has ended. */
export const interrupted = 130;

/** Makes Ctrl-C, and being told to end, a signal, until it is disposed of. */
export function onInterrupt(): Interrupt {
  const controller = new AbortController();
  const stop = (): void => {
    if (controller.signal.aborted) process.exit(interrupted);
    controller.abort();
  };
  const signals = ['SIGINT', 'SIGTERM'] as const;
  for (const name of signals) process.on(name, stop);
  return {
    signal: controller.signal,
    [Symbol.dispose]: () => signals.forEach((name) => process.off(name, stop)),
  };
}
