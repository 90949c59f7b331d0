import { readCpuUse, type CpuUse } from './cpuUse.ts';

/**
 * Measures how many cores other programs leave free: the idle ones and those that this process has. No timer: it reads the
 * counters of the system when a batch starts or ends, so between turns it does nothing.
 */
export class FreeCores {
  readonly #read: () => CpuUse | undefined;
  #last: Reading | undefined;

  /** @param read returns undefined where nothing is known. It must not throw. */
  constructor(read: () => CpuUse | undefined = readCpuUse, now = performance.now()) {
    this.#read = read;
    this.#readAt(now);
  }

  /** The mean number of free cores since the last call; undefined when it is unknown, or when too little time has passed. */
  mean(now: number): number | undefined {
    if (this.#last && now - this.#last.at < minMeanMs) return undefined;
    return meanFreeCores(this.#last, this.#readAt(now));
  }

  /**
   * The number of free cores now, before this process begins to compute: those on which no thread runs, or the mean since the
   * last call if that is more, since a thread may run for a moment only. Undefined when neither is known.
   */
  current(now: number): number | undefined {
    const last = this.#last;
    const next = this.#readAt(now);
    const mean = meanFreeCores(last, next);
    const { cores = 0, runningThreads } = next?.use ?? {};
    // The thread that asks runs, too.
    return runningThreads === undefined ? mean : Math.max(0, cores - Math.max(0, runningThreads - 1), mean ?? 0);
  }

  #readAt(at: number): Reading | undefined {
    const use = this.#read();
    return (this.#last = use && { use, at });
  }
}

interface Reading {
  readonly use: CpuUse;
  readonly at: number;
}

function meanFreeCores(from: Reading | undefined, to: Reading | undefined): number | undefined {
  if (!from || !to || to.at <= from.at) return undefined;
  const freeMs = to.use.idleMs - from.use.idleMs + to.use.ownMs - from.use.ownMs;
  return Math.max(0, freeMs / (to.at - from.at));
}

// The counters advance in steps of 10 to 16 ms.
const minMeanMs = 100;
