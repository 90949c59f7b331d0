import { readdir, realpath } from 'node:fs/promises';
import { join, sep } from 'node:path';
import type { ModelStore, StoreProgram } from './stores.ts';
import { readTextIfFile } from '../../../base/filesystem.ts';
import { createReader, type ObjectSchema, readJsonText } from '../../../protocol/schema.ts';
import { fileSize, hasModelMagic } from '../disk/modelFile.ts';
import { blobHash } from '../hub/endpoint.ts';

/** A GGUF file that another program keeps on the machine. */
export interface LocalFile {
  readonly program: StoreProgram;
  /** The name that the program gives it: a path, or a name with a tag. */
  readonly name: string;
  /** Absolute path, without symbolic links. */
  readonly path: string;
  readonly bytes: number;
  /** The SHA-256 that the program names it after; undefined = not known. It is not verified. */
  readonly sha256: string | undefined;
  /** Repository and path within it, where the program's folders say so. */
  readonly source: { readonly repo: string; readonly file: string } | undefined;
}

/** How deep and how many entries of a store are searched: it is a folder of the user, and may hold anything. */
const maxStoreDepth = 8;
const maxStoreEntries = 50_000;

/** The GGUF files of other programs: each once, in the order of the stores. What cannot be read is left out. */
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
    const file = await resolveFile(join(folder, ...parts));
    if (!file) continue;
    const source = sourceOf(program, parts);
    const name = source === undefined ? parts.join('/') : `${source.repo}/${source.file}`;
    files.push({ program, name, ...file, sha256: blobHash(file.path), source });
  }
  return files;
}

/** A file behind symbolic links; undefined: there is none. */
async function resolveFile(link: string): Promise<Pick<LocalFile, 'path' | 'bytes'> | undefined> {
  const path = await realpath(link).catch(() => '');
  const bytes = await fileSize(path);
  return bytes === undefined ? undefined : { path, bytes };
}

function sourceOf(program: ModelStore['program'], parts: readonly string[]): LocalFile['source'] {
  const [first = '', second = '', ...rest] = parts;
  // models--OWNER--NAME/snapshots/COMMIT/FILE
  const [, owner, name] = /^models--(.+?)--(.+)$/s.exec(first) ?? [];
  if (owner !== undefined && name !== undefined && second === 'snapshots' && rest.length >= 2)
    return { repo: `${owner}/${name}`, file: rest.slice(1).join('/') };
  if (program === 'LM Studio' && rest.length > 0) return { repo: `${first}/${second}`, file: rest.join('/') };
  return undefined;
}

/** Paths of all `.gguf` files below a folder, as parts, sorted. Symbolic links to folders are not followed. */
async function listGgufPaths(folder: string): Promise<readonly (readonly string[])[]> {
  const paths: (readonly string[])[] = [];
  let entriesLeft = maxStoreEntries;
  const visit = async (parts: readonly string[]): Promise<void> => {
    const entries = await readdir(join(folder, ...parts), { withFileTypes: true }).catch(() => []);
    entriesLeft -= entries.length;
    if (entriesLeft < 0) return;
    for (const entry of entries.sort((a, b) => (a.name < b.name ? -1 : 1))) {
      const path = [...parts, entry.name];
      if (entry.isDirectory() && path.length < maxStoreDepth) await visit(path);
      else if (/\.gguf$/i.test(entry.name) && (entry.isFile() || entry.isSymbolicLink())) paths.push(path);
    }
  };
  await visit([]);
  return paths;
}

const manifestSchema = {
  type: 'object',
  required: ['layers'],
  properties: {
    layers: {
      type: 'array',
      items: {
        type: 'object',
        required: ['mediaType', 'digest'],
        properties: { mediaType: { type: 'string' }, digest: { type: 'string' } },
      },
    },
  },
} as const satisfies ObjectSchema;

const readManifest = createReader(manifestSchema);
const modelMediaType = 'application/vnd.ollama.image.model';
const maxManifests = 10_000;

/** The models of an Ollama folder: `manifests/REGISTRY/NAMESPACE/NAME/TAG` names the blob `blobs/sha256-HASH`. */
async function findOllamaFiles(folder: string): Promise<readonly LocalFile[]> {
  const manifests = await readdir(join(folder, 'manifests'), { recursive: true }).catch(() => []);
  const files: LocalFile[] = [];
  for (const manifest of manifests.sort().slice(0, maxManifests)) {
    const sha256 = await readModelHash(join(folder, 'manifests', manifest));
    if (sha256 === undefined) continue;
    const file = await resolveFile(join(folder, 'blobs', `sha256-${sha256}`));
    if (!file) continue;
    files.push({ program: 'Ollama', name: modelName(manifest.split(sep)), ...file, sha256, source: undefined });
  }
  return files;
}

async function readModelHash(manifest: string): Promise<string | undefined> {
  const { layers = [] } = readJsonText(await readTextIfFile(manifest).catch(() => ''), readManifest) ?? {};
  const layer = layers.find(({ mediaType }) => mediaType === modelMediaType);
  return /^sha256:([0-9a-f]{64})$/.exec(layer?.digest ?? '')?.[1];
}

/** The name that `ollama list` shows: without the default registry and namespace. */
function modelName(parts: readonly string[]): string {
  const [registry, namespace] = parts;
  const start = registry !== 'registry.ollama.ai' ? 0 : namespace === 'library' ? 2 : 1;
  return `${parts.slice(start, -1).join('/')}:${parts.at(-1) ?? ''}`;
}
