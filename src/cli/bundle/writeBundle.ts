import {
  chmod,
  copyFile,
  mkdir,
  mkdtemp,
  readdir,
  realpath,
  rename,
  rm,
  rmdir,
  stat,
  writeFile,
} from 'node:fs/promises';
import { basename, dirname, join, posix, resolve } from 'node:path';
import { createReadStream, createWriteStream } from 'node:fs';
import { pipeline } from 'node:stream/promises';
import { describeFsError, makeFolder } from '../../base/filesystem.ts';
import { isProcessAlive } from '../../base/ownership.ts';
import type { BundleFile } from './bundlePart.ts';

/**
 * Writes files into a new folder, all or none: they are written to a folder next to it, which is renamed at the end.
 * @throws Error that names the folder, when it is not empty or cannot be written; the reason of the signal.
 */
export async function writeBundle(path: string, files: readonly BundleFile[], signal: AbortSignal): Promise<void> {
  const folder = await realFolder(path);
  await assertEmpty(path, folder);
  let draft: string | undefined;
  try {
    await makeFolder(dirname(folder));
    await removeOldDrafts(folder);
    draft = await mkdtemp(`${folder}.new-${process.pid}-`);
    for (const path of foldersOf(files)) {
      await mkdir(join(draft, path));
      await chmod(join(draft, path), folderMode);
    }
    for (const file of files) {
      signal.throwIfAborted();
      await writeFileTo(draft, file, signal);
    }
    await chmod(draft, folderMode);
    await rmdir(folder).catch((error: NodeJS.ErrnoException) => {
      if (error.code !== 'ENOENT') throw error;
    });
    await rename(draft, folder);
  } catch (error) {
    if (draft !== undefined) await rm(draft, { recursive: true, force: true });
    signal.throwIfAborted();
    const { path: place } = Object(error) as { readonly path?: string };
    throw new Error(`${path} cannot be written: ${describeFsError(error)}${place ? ` at ${place}` : ''}`, {
      cause: error,
    });
  }
}

/** Checks that a bundle can be written to a folder. @throws Error that names the fix. */
export async function assertEmpty(path: string, folder = resolve(path)): Promise<void> {
  const entries = await readdir(folder).catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return [];
    throw new Error(`${path} cannot be a bundle: ${describeFsError(error)}`, { cause: error });
  });
  if (entries.length > 0) throw new Error(`${path} is not empty: delete it, or name a folder that is not there yet`);
}

// A symbolic link to a folder is kept: that folder is written.
const realFolder = (path: string): Promise<string> => realpath(path).catch(() => resolve(path));

// The same on every machine, whatever the source and the umask have.
const folderMode = 0o755;
const fileMode = 0o644;
const executableMode = 0o755;

/** The folders of files, each after its parent. */
function foldersOf(files: readonly BundleFile[]): readonly string[] {
  const folders = new Set<string>();
  for (const { path } of files)
    for (let folder = posix.dirname(path); folder !== '.'; folder = posix.dirname(folder)) folders.add(folder);
  return [...folders].toSorted();
}

// A larger file is copied in pieces: Ctrl-C does not wait for all of it.
const maxWholeCopyBytes = 2 ** 26;

async function writeFileTo(
  draft: string,
  { path, content, isExecutable = false }: BundleFile,
  signal: AbortSignal,
): Promise<void> {
  const target = join(draft, ...path.split('/'));
  if ('text' in content) await writeFile(target, content.text);
  else if ((await stat(content.copyOf)).size <= maxWholeCopyBytes) await copyFile(content.copyOf, target);
  else await pipeline(createReadStream(content.copyOf), createWriteStream(target), { signal });
  await chmod(target, isExecutable ? executableMode : fileMode);
}

/**
 * Removes the drafts of a bundle's folder that killed processes have left next to it: folders whose name has the id of a
 * process that does not run any more, and the six characters of `mkdtemp`.
 * @throws the system's error.
 */
async function removeOldDrafts(folder: string): Promise<void> {
  const prefix = `${basename(folder)}.new-`;
  const parent = dirname(folder);
  for (const entry of await readdir(parent, { withFileTypes: true })) {
    if (!entry.isDirectory() || !entry.name.startsWith(prefix)) continue;
    const [, id] = /^([1-9]\d*)-[A-Za-z0-9]{6}$/.exec(entry.name.slice(prefix.length)) ?? [];
    // A draft with the id of this process is of an earlier one: in a container each has the same.
    if (id !== undefined && (Number(id) === process.pid || !isProcessAlive(Number(id))))
      await rm(join(parent, entry.name), { recursive: true, force: true });
  }
}
