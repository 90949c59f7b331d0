import { setTimeout as wait } from 'node:timers/promises';
import type { ModelPool } from '../../inference/models/pool/pool.ts';

/** While turns compute, background work takes at most one part in so many of the time. */
const shareDivisor = 20;
/** Background work goes on after this time, even if turns compute all the while. */
const maxWaitMs = 2000;
const pollMs = 25;

/** Whether a chat model of some pools computes. */
const isComputing = (pools: readonly ModelPool[]): boolean =>
  pools.some((pool) =>
    pool.entries.some(({ name, purpose }) => purpose === 'chat' && (pool.state(name).stats?.slotsBusy ?? 0) > 0),
  );

/**
 * Creates the function that background work calls between its steps: it waits while turns need the processor.
 * @param pools their models.
 */
export const createGiveWay =
  (pools: () => readonly ModelPool[]) =>
  async (stepMs: number, signal: AbortSignal): Promise<void> => {
    const end = performance.now() + Math.min(maxWaitMs, stepMs * shareDivisor);
    while (performance.now() < end && isComputing(pools())) await wait(pollMs, undefined, { signal });
  };
