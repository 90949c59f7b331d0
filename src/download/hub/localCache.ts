import { readFile, realpath } from 'node:fs/promises';
import { basename, join } from 'node:path';
import type { Target } from '../target.ts';

/** Finds a file in the cache that programs of the hub share: models--OWNER--NAME/{refs,snapshots,blobs}. */
export async function findInHubCache(
  cache: string,
  { repo, revision, file, expected }: Target,
): Promise<string | undefined> {
  const home = join(cache, `models--${repo.replaceAll('/', '--')}`);
  const commit = await readFile(join(home, 'refs', ...revision.split('/')), 'utf8').then(
    (text) => text.trim(),
    () => revision,
  );
  // The name of a snapshot is read from a file, and is to be a name.
  if (!/^\w+$/.test(commit)) return undefined;
  const path = join(home, 'snapshots', commit, ...file.split('/'));
  const blob = await realpath(path).catch(() => undefined);
  if (blob === undefined) return undefined;
  const hash = blobHash(blob);
  return hash !== undefined && expected.sha256 !== undefined && hash !== expected.sha256 ? undefined : path;
}

/** The SHA-256 that a blob of the cache is named by, if it is. */
export function blobHash(blob: string): string | undefined {
  const name = basename(blob);
  return /^[0-9a-f]{64}$/.test(name) ? name : undefined;
}
