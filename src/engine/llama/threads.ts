import { availableParallelism } from 'node:os';

/** Threads that evaluate tokens: as many as asked for, or half the cores, for a game needs the others. */
export const chooseThreads = (asked: number): number =>
  asked > 0 ? asked : Math.max(1, Math.floor(availableParallelism() / 2));
