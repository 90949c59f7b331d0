import { readFile, realpath } from 'node:fs/promises';
import { basename, join } from 'node:path';
import type { Target } from '../target.ts';

/**
 * Finds a file in the Hugging Face cache, which `huggingface_hub` and other programs fill:
 * `models--OWNER--NAME/{refs,snapshots,blobs}`. It is used in place and never changed.
 */
export async function findInHubCache(
  cache: string,
  { repo, revision, file, expected }: Target,
): Promise<string | undefined> {
  const repoFolder = join(cache, `models--${repo.replaceAll('/', '--')}`);
  const commit = await readFile(join(repoFolder, 'refs', ...revision.split('/')), 'utf8').then(
    (text) => text.trim(),
    () => revision,
  );
  // The commit id is read from disk; reject anything that could leave the cache folder.
  if (!/^\w+$/.test(commit)) return undefined;
  const path = join(repoFolder, 'snapshots', commit, ...file.split('/'));
  const blob = await realpath(path).catch(() => undefined);
  if (blob === undefined) return undefined;
  const sha256 = blobHash(blob);
  return sha256 !== undefined && expected.sha256 !== undefined && sha256 !== expected.sha256 ? undefined : path;
}

/** The SHA-256 that a blob of the cache is named after; undefined when its name is not a SHA-256. */
export function blobHash(blob: string): string | undefined {
  const name = basename(blob);
  return /^[0-9a-f]{64}$/.test(name) ? name : undefined;
}
