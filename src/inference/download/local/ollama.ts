import { readdir, realpath, stat } from 'node:fs/promises';
import { join, sep } from 'node:path';
import { readRegularFile } from '../../../base/filesystem.ts';
import { createReader, type ObjectSchema } from '../../../protocol/schema.ts';
import type { LocalFile } from './localFile.ts';

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

const parseManifest = createReader(manifestSchema);
const modelMediaType = 'application/vnd.ollama.image.model';
const maxManifests = 10_000;

/**
 * Finds the models of an Ollama folder: `manifests/REGISTRY/NAMESPACE/NAME/TAG` are JSON files that name the blob of the
 * model, `blobs/sha256-HASH`.
 */
export async function findOllamaFiles(folder: string): Promise<readonly LocalFile[]> {
  const manifests = await readdir(join(folder, 'manifests'), { recursive: true }).catch(() => []);
  const files: LocalFile[] = [];
  for (const manifest of manifests.sort().slice(0, maxManifests)) {
    const sha256 = await readModelHash(join(folder, 'manifests', manifest));
    if (sha256 === undefined) continue;
    const path = await realpath(join(folder, 'blobs', `sha256-${sha256}`)).catch(() => undefined);
    const info = path === undefined ? undefined : await stat(path).catch(() => undefined);
    if (path === undefined || !info?.isFile()) continue;
    const name = modelName(manifest.split(sep));
    files.push({ program: 'Ollama', name, path, bytes: info.size, sha256, source: undefined });
  }
  return files;
}

async function readModelHash(manifest: string): Promise<string | undefined> {
  try {
    const result = parseManifest(JSON.parse((await readRegularFile(manifest)).toString('utf8')));
    const layer = result.ok ? result.value.layers.find(({ mediaType }) => mediaType === modelMediaType) : undefined;
    return /^sha256:([0-9a-f]{64})$/.exec(layer?.digest ?? '')?.[1];
  } catch {
    return undefined;
  }
}

/** The name that `ollama list` shows: without the default registry and namespace. */
function modelName(parts: readonly string[]): string {
  const [registry, namespace, ...rest] = parts.slice(0, -1);
  const isDefault = registry === 'registry.ollama.ai' && namespace === 'library';
  const name = isDefault
    ? rest
    : registry === 'registry.ollama.ai'
      ? [namespace, ...rest]
      : [registry, namespace, ...rest];
  return `${name.join('/')}:${parts.at(-1) ?? ''}`;
}
