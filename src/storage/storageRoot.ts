import { realpath } from 'node:fs/promises';
import { isAbsolute, join, relative, sep } from 'node:path';
import { Fault } from '../fault.ts';

/** A folder that storage files are read from, and that no path leads out of. */
export class StorageRoot {
  readonly #root: string;
  readonly #folder: string;

  /**
   * @param root the server's storage root.
   * @param folder the session's own folder in it; "" = the root itself.
   * @throws Fault STORAGE_OUTSIDE_ROOT when the folder's name leads out.
   */
  constructor(root: string, folder = '') {
    this.#root = root;
    this.#folder = folder === '' ? '' : inside(folder);
  }

  /**
   * The real path of a file, symbolic links followed; undefined when there is none.
   * @throws Fault STORAGE_OUTSIDE_ROOT for absolute paths, for "..", and for links that lead out of the session's folder.
   */
  async find(path: string): Promise<string | undefined> {
    const name = inside(path);
    const [root, folder, file] = await Promise.all(
      [this.#root, join(this.#root, this.#folder), join(this.#root, this.#folder, name)].map(real),
    );
    if (root === undefined || folder === undefined || file === undefined) return undefined;
    if (!contains(root, folder) || !contains(folder, file)) throw outside(path);
    return file;
  }
}

// Both separators and both ways to be absolute count on every system: a path must mean the same everywhere.
function inside(path: string): string {
  const parts = path.split(/[\\/]/);
  if (parts[0] === '' || /^[A-Za-z]:/.test(path) || parts.includes('..') || path.includes('\0')) throw outside(path);
  return parts.join('/');
}

const real = (path: string): Promise<string | undefined> =>
  realpath(path).catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ELOOP') throw outside(path);
    return undefined;
  });

function contains(folder: string, path: string): boolean {
  const way = relative(folder, path);
  return !isAbsolute(way) && way.split(sep)[0] !== '..';
}

const outside = (path: string): Fault =>
  new Fault(
    'STORAGE_OUTSIDE_ROOT',
    `the storage path "${path}" leads out of the storage folder; use a relative path without ".."`,
  );
