import { readdir, realpath, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { hasModelMagic } from '../disk/modelFile.ts';
import { blobHash } from '../hub/localCache.ts';
import type { LocalFile } from './localFile.ts';
import { findOllamaFiles } from './ollama.ts';
import type { ModelStore } from './stores.ts';

/** What other programs have on the machine. */
export interface LocalModels {
  readonly files: readonly LocalFile[];
  /** The folders that were searched, whether they exist or not. */
  readonly stores: readonly ModelStore[];
}

/** How deep and how many entries of a store are searched: it is a folder of the user, and may hold anything. */
const maxDepth = 8;
const maxEntries = 50_000;

/**
 * Finds the GGUF files in the stores of other programs: each file once, in the order of the stores. What cannot be read is
 * left out.
 */
export async function findLocalFiles(stores: readonly ModelStore[]): Promise<readonly LocalFile[]> {
  const found = new Map<string, LocalFile>();
  for (const store of stores) {
    const files = store.program === 'Ollama' ? await findOllamaFiles(store.folder) : await findGgufFiles(store);
    for (const file of files) if (!found.has(file.path) && (await hasModelMagic(file.path))) found.set(file.path, file);
  }
  return [...found.values()];
}

async function findGgufFiles({ program, folder }: ModelStore): Promise<readonly LocalFile[]> {
  const files: LocalFile[] = [];
  for (const parts of await listGgufPaths(folder)) {
    const path = await realpath(join(folder, ...parts)).catch(() => undefined);
    const info = path === undefined ? undefined : await stat(path).catch(() => undefined);
    if (path === undefined || !info?.isFile()) continue;
    const source = sourceOf(program, parts);
    const name = source === undefined ? parts.join('/') : `${source.repo}/${source.file}`;
    files.push({ program, name, path, bytes: info.size, sha256: blobHash(path), source });
  }
  return files;
}

/** Repository and file of a path within a store. */
function sourceOf(program: ModelStore['program'], parts: readonly string[]): LocalFile['source'] {
  const [first = '', second = '', ...rest] = parts;
  // models--OWNER--NAME/snapshots/COMMIT/FILE
  const [, owner, name] = /^models--(.+?)--(.+)$/.exec(first) ?? [];
  if (owner !== undefined && name !== undefined && second === 'snapshots' && rest.length >= 2)
    return { repo: `${owner}/${name}`, file: rest.slice(1).join('/') };
  if (program === 'LM Studio' && rest.length > 0) return { repo: `${first}/${second}`, file: rest.join('/') };
  return undefined;
}

/** Paths of all `.gguf` files below a folder, as parts, sorted. Symbolic links to folders are not followed. */
async function listGgufPaths(folder: string): Promise<readonly (readonly string[])[]> {
  const paths: (readonly string[])[] = [];
  let entriesLeft = maxEntries;
  const visit = async (parts: readonly string[]): Promise<void> => {
    const entries = await readdir(join(folder, ...parts), { withFileTypes: true }).catch(() => []);
    entriesLeft -= entries.length;
    if (entriesLeft < 0) return;
    for (const entry of entries.sort((a, b) => (a.name < b.name ? -1 : 1))) {
      const path = [...parts, entry.name];
      if (entry.isDirectory() && path.length < maxDepth) await visit(path);
      else if (/\.gguf$/i.test(entry.name) && (entry.isFile() || entry.isSymbolicLink())) paths.push(path);
    }
  };
  await visit([]);
  return paths;
}
