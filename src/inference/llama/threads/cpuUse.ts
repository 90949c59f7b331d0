import { readFileSync } from 'node:fs';
import { availableParallelism, cpus } from 'node:os';

/** What all programs together, and this process alone, do with the cores of the machine. */
export interface CpuUse {
  /** Cores of the machine. */
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
