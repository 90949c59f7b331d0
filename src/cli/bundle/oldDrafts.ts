import { readdir, rm } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';

/**
 * Removes the drafts of a bundle's folder that killed processes have left next to it: folders whose name has the id of a
 * process that does not run any more, and the six characters of `mkdtemp`.
 * @throws the system's error.
 */
export async function removeOldDrafts(folder: string): Promise<void> {
  const prefix = `${basename(folder)}.new-`;
  const parent = dirname(folder);
  for (const entry of await readdir(parent, { withFileTypes: true })) {
    if (!entry.isDirectory() || !entry.name.startsWith(prefix)) continue;
    const [, id] = /^([1-9]\d*)-[A-Za-z0-9]{6}$/.exec(entry.name.slice(prefix.length)) ?? [];
    if (id !== undefined && !isOtherProcess(Number(id)))
      await rm(join(parent, entry.name), { recursive: true, force: true });
  }
}

// A draft with the id of this process is of an earlier one: in a container each has the same.
function isOtherProcess(id: number): boolean {
  if (id === process.pid) return false;
  try {
    return process.kill(id, 0);
  } catch (error) {
    // EPERM: it runs, and belongs to another user.
    return (error as NodeJS.ErrnoException).code !== 'ESRCH';
  }
}
