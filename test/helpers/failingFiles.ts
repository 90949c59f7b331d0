import { existsSync, readdirSync, readlinkSync } from 'node:fs';
import fs from 'node:fs/promises';
import { syncBuiltinESMExports } from 'node:module';

const patched = ['open', 'readFile', 'readdir', 'rename', 'rm', 'stat', 'unlink', 'writeFile'] as const;

/**
 * Lets the functions of `node:fs/promises` fail for paths with a system's error, such as EMFILE, until it is disposed of.
 * @param functions those that fail; default: those that open a file.
 */
export function failFiles(
  code: string,
  fails: (path: string, target: unknown) => boolean,
  functions: readonly (typeof patched)[number][] = ['open', 'readFile', 'readdir', 'writeFile'],
): Disposable {
  const originals = new Map(functions.map((name) => [name, fs[name] as (...args: never[]) => unknown]));
  for (const [name, original] of originals) {
    const failing = (path: unknown, ...rest: never[]): unknown =>
      typeof path === 'string' && fails(path, rest[0])
        ? Promise.reject(Object.assign(new Error(`${code}: ${name} '${path}'`), { code, path, syscall: name }))
        : original(path as never, ...rest);
    Object.assign(fs, { [name]: failing });
  }
  syncBuiltinESMExports();
  return {
    [Symbol.dispose]() {
      Object.assign(fs, Object.fromEntries(originals));
      syncBuiltinESMExports();
    },
  };
}

const openFiles = '/proc/self/fd';

/** Lets no file be renamed to one that this process has open, as on Windows, until it is disposed of; without /proc, any. */
export const renameAsWindows = (): Disposable =>
  failFiles('EPERM', (_, target) => openPaths().includes(String(target)), ['rename']);

function openPaths(): readonly string[] {
  const linkOf = (fd: string): string => {
    try {
      return readlinkSync(`${openFiles}/${fd}`);
    } catch {
      return '';
    }
  };
  return existsSync(openFiles) ? readdirSync(openFiles).map(linkOf) : [];
}
