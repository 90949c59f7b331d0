// Memory of a server with all its processes, on Linux: the sum of their PSS, in which pages that processes share count once.
import { readdir, readFile } from 'node:fs/promises';

/**
 * Samples the memory of a process and its descendants.
 * @param {number} pid
 * @returns {{ readonly now: () => Promise<number>, readonly stop: () => Promise<number> }} `now` is the sum in bytes; `stop`
 *   ends the sampling, and gives the peak since its begin. NaN on other systems.
 */
export function samplePss(pid) {
  let peak = NaN;
  let isStopped = false;
  const sample = async () => {
    const sum = await sumPss(pid);
    peak = Math.max(sum, Number.isNaN(peak) ? sum : peak);
    return sum;
  };
  const sampling = (async () => {
    while (!isStopped) {
      await sample();
      await new Promise((resolve) => void setTimeout(resolve, intervalMs));
    }
  })();
  return {
    now: sample,
    async stop() {
      isStopped = true;
      await sampling;
      await sample();
      return peak;
    },
  };
}

const intervalMs = 50;

/**
 * The memory of a process and its descendants, in bytes. Reading it takes milliseconds of a core.
 * @param {number} pid
 * @returns {Promise<number>}
 */
export async function sumPss(pid) {
  const parents = await readParents();
  const tree = new Set([pid]);
  // A child has a larger id than its parent, unless the ids began anew: so until nothing is added.
  for (let size = 0; size < tree.size;) {
    size = tree.size;
    for (const [child, parent] of parents) if (tree.has(parent)) tree.add(child);
  }
  const sums = await Promise.all([...tree].map(readPss));
  return sums.reduce((sum, bytes) => sum + bytes, 0);
}

async function readParents() {
  const names = await readdir('/proc').catch(() => []);
  const ids = names.filter((name) => /^\d+$/.test(name)).map(Number);
  const pairs = await Promise.all(
    ids.map(async (id) => {
      const text = await readFile(`/proc/${id}/stat`, 'utf8').catch(() => '');
      // The name of the program is in parentheses, and may contain anything.
      return [id, Number(text.slice(text.lastIndexOf(')') + 2).split(' ')[1])];
    }),
  );
  return new Map(pairs);
}

// A process that has just ended has none.
async function readPss(pid) {
  if (process.platform !== 'linux') return NaN;
  const text = await readFile(`/proc/${pid}/smaps_rollup`, 'utf8').catch(() => '');
  return Number(/^Pss:\s+(\d+) kB/m.exec(text)?.[1] ?? 0) * 1024;
}
