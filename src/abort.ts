/** Waits for a promise, but no longer than until one of the signals is aborted. */
export function untilAborted(wait: Promise<void>, ...signals: readonly AbortSignal[]): Promise<void> {
  return new Promise((resolve, reject) => {
    const done = (): void => {
      for (const signal of signals) signal.removeEventListener('abort', done);
      resolve();
    };
    for (const signal of signals) signal.addEventListener('abort', done);
    if (signals.some(({ aborted }) => aborted)) done();
    wait.then(done, reject);
  });
}
