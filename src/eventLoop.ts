import { setImmediate as nextRound } from 'node:timers/promises';

/**
 * Creates a function to call between chunks of long synchronous work: it yields to the event loop once `maxBlockedMs`
 * have passed since it last did.
 */
export function createYielder(maxBlockedMs = 10): () => Promise<void> {
  let lastYield = performance.now();
  return async () => {
    if (performance.now() - lastYield < maxBlockedMs) return;
    await nextRound();
    lastYield = performance.now();
  };
}
