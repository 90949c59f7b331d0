/**
 * A function that runs some work for all who ask for it at the same time: those who ask during a run share the next one, so
 * that no result is older than the question.
 */
export function coalesced<Result>(work: () => Promise<Result>): () => Promise<Result> {
  let running: Promise<unknown> = Promise.resolve();
  let next: Promise<Result> | undefined;
  return () => {
    next ??= running.then(() => {
      next = undefined;
      const result = work();
      running = result.catch(() => undefined);
      return result;
    });
    return next;
  };
}
