import { readFileSync } from 'node:fs';
import { availableParallelism, cpus } from 'node:os';

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
   * last call if that is more. A thread may run for a moment only, as one that has sent a request: while fewer than `wanted` are
   * free it looks again, for 3 ms. Undefined when neither is known.
   */
  current(now: number, wanted: number): number | undefined {
    const mean = meanFreeCores(this.#last, this.#readAt(now));
    for (let [looks, free] = [1, mean ?? 0]; ; looks++) {
      const { cores = 0, runningThreads } = this.#last?.use ?? {};
      if (runningThreads === undefined) return mean;
      // The thread that asks runs, too.
      free = Math.max(free, cores - Math.max(0, runningThreads - 1));
      if (free >= wanted || looks > 3) return free;
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 1);
      this.#readAt(now);
    }
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

/** What all programs together, and this process alone, do with the cores of the machine. */
export interface CpuUse {
  readonly cores: number;
  /** Milliseconds that cores had nothing to do, of all cores together, since some moment. */
  readonly idleMs: number;
  /** CPU time of this process since some moment, in milliseconds. */
  readonly ownMs: number;
  /** Threads of all programs that run now or wait for a core; undefined where the system does not say. */
  readonly runningThreads: number | undefined;
}

/**
 * Reads the counters of the system, in less than a millisecond. Undefined where they cannot be read, and in a container or
 * with an affinity: the idle time of the machine says nothing about the cores of this process.
 */
export function readCpuUse(): CpuUse | undefined {
  const machine = process.platform === 'linux' ? readLinuxUse() : readMachineUse();
  if (machine?.cores !== availableParallelism()) return undefined;
  const { user, system } = process.cpuUsage();
  return { ...machine, ownMs: (user + system) / 1000 };
}

function readMachineUse(): Omit<CpuUse, 'ownMs'> {
  const cores = cpus();
  return {
    cores: cores.length,
    idleMs: cores.reduce((sum, { times }) => sum + times.idle, 0),
    runningThreads: undefined,
  };
}

// Not `cpus()`, which reads the clock speed of each core, too: some kernels measure it first.
function readLinuxUse(): Omit<CpuUse, 'ownMs'> | undefined {
  try {
    return parseProcStat(readFileSync('/proc/stat', 'latin1'));
  } catch {
    return undefined;
  }
}

/** Parses `/proc/stat` of Linux; undefined when it does not have the expected lines. */
export function parseProcStat(text: string): Omit<CpuUse, 'ownMs'> | undefined {
  // user nice system idle iowait ..., in hundredths of a second.
  const total = /^cpu +\d+ \d+ \d+ (\d+) (\d+)/m.exec(text);
  const running = /^procs_running (\d+)$/m.exec(text);
  if (!total || !running) return undefined;
  return {
    cores: text.match(/^cpu\d/gm)?.length ?? 0,
    idleMs: (Number(total[1]) + Number(total[2])) * 10,
    runningThreads: Number(running[1]),
  };
}
