// A process as its system sees it; undefined where there is no /proc.
import { readdir, readFile } from 'node:fs/promises';

/** Bytes in memory and open handles of a process, its children included. */
export async function lookAt(pid) {
  try {
    const pids = await familyOf(pid);
    const each = await Promise.all(
      pids.map(async (one) => ({ bytes: await residentBytes(one), handles: await handles(one) })),
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

const handles = async (pid) => (await readdir(`/proc/${pid}/fd`)).length;

async function familyOf(pid) {
  const children = (await readFile(`/proc/${pid}/task/${pid}/children`, 'utf8').catch(() => ''))
    .split(' ')
    .filter(Boolean);
  const below = await Promise.all(children.map(familyOf));
  return [pid, ...below.flat().map(Number)];
}
