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

/** Asks to start a piece of synchronous work: undefined when it may start now, else a promise to wait for. */
export type Admission = () => Promise<void> | undefined;

/** Clock and event loop of an admission; tests replace them. */
export interface AdmissionClock {
  /** Monotonic time in milliseconds. */
  readonly now: () => number;
  /** Calls back in the next round of the event loop. */
  readonly onNextRound: (callback: () => void) => void;
}

const processClock: AdmissionClock = {
  now: () => performance.now(),
  onNextRound: (callback) => setImmediate(callback),
};

/**
 * Creates the admission of work that several owners share: once work has taken `maxBlockedMs` in one round of the event
 * loop, each later round starts one piece, in the order of asking. So however many pieces are ready, the event loop is
 * held for `maxBlockedMs` and the longest piece.
 */
export function createAdmission(maxBlockedMs = 10, { now, onNextRound } = processClock): Admission {
  const waiting: (() => void)[] = [];
  let roundStart: number | undefined;
  const beginRound = (): void => {
    roundStart = now();
    onNextRound(endRound);
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
    if (waiting.length === 0 && roundStart !== undefined && now() - roundStart < maxBlockedMs) return undefined;
    return new Promise((resolve) => waiting.push(resolve));
  };
}

/** The admission that all requests of the process share, and all chunks of their work. */
export const sharedAdmission: Admission = createAdmission();

/**
 * Runs a chunk of long synchronous work, such as compiling one part of a graph, once the shared admission allows it: chunks
 * of many tasks in the same round of the event loop do not add up, nor do several chunks of one request.
 */
export async function runChunk<T>(work: () => T | Promise<T>): Promise<T> {
  // No await between the admission and the work: otherwise all tasks would be admitted before the first one works.
  const admitted = sharedAdmission();
  if (admitted) await admitted;
  return work();
}
