// Process statistics from /proc; undefined on systems without it.
import { readdir, readFile } from 'node:fs/promises';

/** Reads the resident bytes and open handles of a process; its children are included unless it `isAlone`. */
export async function readProcStats(pid, { isAlone = false } = {}) {
  try {
    const pids = isAlone ? [pid] : await processTree(pid);
    const each = await Promise.all(
      pids.map(async (one) => ({ bytes: await residentBytes(one), handles: await countHandles(one) })),
    );
    return each.reduce((sum, one) => ({ bytes: sum.bytes + one.bytes, handles: sum.handles + one.handles }));
  } catch {
    return undefined;
  }
}

async function residentBytes(pid) {
  const [, kilobytes] = /^VmRSS:\s+(\d+) kB/m.exec(await readFile(`/proc/${pid}/status`, 'utf8')) ?? [];
  return Number(kilobytes) * 1024;
}

const countHandles = async (pid) => (await readdir(`/proc/${pid}/fd`)).length;

/** A process and all below it, by process id. */
export async function processTree(pid) {
  const children = (await readFile(`/proc/${pid}/task/${pid}/children`, 'utf8').catch(() => ''))
    .split(' ')
    .filter(Boolean);
  const below = await Promise.all(children.map(processTree));
  return [pid, ...below.flat().map(Number)];
}
