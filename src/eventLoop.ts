import { setImmediate as breath } from 'node:timers/promises';

/** To be called between the pieces of a long work: lets everybody else go on when they have waited for some milliseconds. */
export function createYielder(longestMs = 10): () => Promise<void> {
  let since = performance.now();
  return async () => {
    if (performance.now() - since < longestMs) return;
    await breath();
    since = performance.now();
  };
}
