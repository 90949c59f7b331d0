import { realpath } from 'node:fs/promises';
import { isAbsolute, join, relative, sep } from 'node:path';
import { Fault } from '../../protocol/fault.ts';

/** Storage root of a session: resolves relative paths of storage files and prevents path traversal out of its folder. */
export class StorageRoot {
  readonly #root: string;
  /** The path of the session's folder, symbolic links not followed. */
  readonly path: string;

  /** @param folder the session's, in the server's `root`; "" = all of it. @throws Fault STORAGE_OUTSIDE_ROOT */
  constructor(root: string, folder = '') {
    this.#root = root;
    this.path = join(root, folder === '' ? '' : normalizeRelative(folder));
  }

  /** The real path of a file, if it exists. @throws Fault STORAGE_OUTSIDE_ROOT for what leads out of the folder. */
  async find(path: string): Promise<string | undefined> {
    if (path === '') return undefined;
    const relativePath = normalizeRelative(path);
    const file = await findRealPath(join(this.path, relativePath), path);
    if (file === undefined) return undefined;
    const [root, folder] = await Promise.all([this.#root, this.path].map((place) => findRealPath(place, path)));
    if (root === undefined || folder === undefined) return undefined;
    if (!contains(root, folder) || !contains(folder, file)) throw outsideRoot(path);
    return file;
  }
}

// Both separators and both kinds of absolute path are recognized on every system: a path must mean the same everywhere.
function normalizeRelative(path: string): string {
  const parts = path.split(/[\\/]/);
  if (parts[0] === '' || /^[A-Za-z]:/.test(path) || parts.includes('..') || path.includes('\0'))
    throw outsideRoot(path);
  return parts.join('/');
}

// An error names the path that the client sent: the absolute one is no business of a client.
const findRealPath = (place: string, sentPath: string): Promise<string | undefined> =>
  realpath(place).catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ELOOP') throw outsideRoot(sentPath);
    return undefined;
  });

function contains(folder: string, path: string): boolean {
  const relativePath = relative(folder, path);
  return !isAbsolute(relativePath) && relativePath.split(sep)[0] !== '..';
}

const outsideRoot = (path: string): Fault =>
  new Fault(
    'STORAGE_OUTSIDE_ROOT',
    `the storage path "${path}" leads out of the storage folder; use a relative path without ".."`,
  );
