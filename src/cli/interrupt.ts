/** The exit code that a shell reports for a process ended by SIGINT: 128 + 2. */
export const interruptedExitCode = 130;

/** A signal that Ctrl-C (SIGINT) and SIGTERM abort until it is disposed of; a second one ends the process immediately. */
export function onInterrupt(): Disposable & { readonly signal: AbortSignal } {
  const controller = new AbortController();
  const stop = (): void => {
    if (controller.signal.aborted) process.exit(interruptedExitCode);
    controller.abort();
  };
  const signals = ['SIGINT', 'SIGTERM'] as const;
  for (const name of signals) process.on(name, stop);
  return { signal: controller.signal, [Symbol.dispose]: () => signals.forEach((name) => process.off(name, stop)) };
}

/** Runs work that Ctrl-C stops. @param sentence what is told when it was stopped; the exit code is then 130. */
export async function untilInterrupted(sentence: string, work: (signal: AbortSignal) => Promise<void>): Promise<void> {
  using interrupt = onInterrupt();
  try {
    await work(interrupt.signal);
  } catch (error) {
    if (!interrupt.signal.aborted) throw error;
    process.stderr.write(`${sentence}\n`);
    process.exitCode = interruptedExitCode;
  }
}
