import { setImmediate as nextRound } from 'node:timers/promises';

/** A function to call in long synchronous work: yields to the event loop each time `maxBlockedMs` have passed. */
export function createYielder(maxBlockedMs = 10): () => Promise<void> {
  let lastYield = performance.now();
  return async () => {
    if (performance.now() - lastYield < maxBlockedMs) return;
    await nextRound();
    lastYield = performance.now();
  };
}

/** Asks to start a piece of synchronous work: undefined when it may start now, else a promise to wait for. */
export type Admission = () => Promise<void> | undefined;

/**
 * Creates the admission of work that several owners share: once work has taken `maxBlockedMs` in one round of the event
 * loop, each later round starts one piece, in the order of asking. So however many pieces are ready, the event loop is
 * held for `maxBlockedMs` and the longest piece.
 */
export function createAdmission(maxBlockedMs = 10): Admission {
  const waiting: (() => void)[] = [];
  let roundStart: number | undefined;
  const beginRound = (): void => {
    roundStart = performance.now();
    setImmediate(endRound);
  };
  const endRound = (): void => {
    roundStart = undefined;
    const start = waiting.shift();
    if (!start) return;
    beginRound();
    start();
  };
  return () => {
    if (roundStart === undefined) beginRound();
    if (waiting.length === 0 && roundStart !== undefined && performance.now() - roundStart < maxBlockedMs)
      return undefined;
    return new Promise((resolve) => waiting.push(resolve));
  };
}

/** The admission that all requests of the process share, and all chunks of their work. */
export const sharedAdmission: Admission = createAdmission();

/** Runs a chunk of long work once the shared admission allows it: chunks of one round do not add up. */
export async function runChunk<T>(work: () => T | Promise<T>): Promise<T> {
  // No await between the admission and the work: otherwise all tasks would be admitted before the first one works.
  const admitted = sharedAdmission();
  if (admitted) await admitted;
  return work();
}
