import { open, realpath, rename } from 'node:fs/promises';
import type { Measure } from './downloadRange.ts';
import { findMismatch } from './downloadFile.ts';
import { fileSize, readMagic } from './disk/modelFile.ts';
import { locateModel, targetsOrEmpty, type SearchPaths } from './locate.ts';
import { sha256Of } from './disk/sha256.ts';
import { blobHash } from './hub/localCache.ts';
import type { LockWait } from './disk/manifest.ts';
import { acquireLock } from './disk/lockFile.ts';
import { badPath } from './disk/partialFile.ts';
import type { Target, ModelSource } from './target.ts';

/** What a check of one file found. */
export interface Verified {
  readonly file: string;
  readonly bytes: number;
  readonly sha256: string;
  /** UNKNOWN: nobody has said what the hash must be. */
  readonly verdict: 'GOOD' | 'BAD' | 'UNKNOWN';
  /** How the file differs; "" = in nothing. */
  readonly why: string;
  /** Where a downloaded file is now that was bad; "" = where it was. */
  readonly quarantined: string;
}

/** How a check is waited for. */
export interface VerifyOptions extends LockWait {
  /** Told how many bytes have been read. */
  readonly onBytes: (bytes: number) => void;
}

/** Reads all files of a model again and compares their hashes; a downloaded file that is bad is set aside. */
export async function verify(
  source: ModelSource,
  places: SearchPaths,
  checking: VerifyOptions,
): Promise<readonly Verified[]> {
  const found = await locateModel(source, places);
  const targets = targetsOrEmpty(source, places.folder);
  const results: Verified[] = [];
  if (found && found.source !== 'folder') {
    const alone = found.files.length === 1 ? source.variants[0] : undefined;
    for (const file of found.files) {
      const expected = { bytes: alone?.size_bytes, sha256: alone?.sha256 ?? blobHash(await realpath(file)) };
      results.push({ ...(await check(file, expected, checking)), quarantined: '' });
    }
    return results;
  }
  for (const target of targets) {
    if ((await fileSize(target.path)) !== undefined) results.push(await verifyOurs(target, places, checking));
  }
  return results;
}

async function verifyOurs(target: Target, { manifest }: SearchPaths, checking: VerifyOptions): Promise<Verified> {
  const { path, key, expected } = target;
  const record = (await manifest.read()).get(key);
  const must = { bytes: expected.bytes ?? record?.bytes, sha256: expected.sha256 ?? (record?.sha256 || undefined) };
  const checked = await check(path, must, checking);
  const quarantined = checked.verdict === 'BAD' ? await quarantine(path) : '';
  const { bytes, sha256 } = checked;
  // What was not known is known from now on, and the record of a file that is gone goes too.
  const now = { commit: '', completed: '', ...record, bytes, sha256 };
  if (record?.sha256 !== sha256) await manifest.update((records) => void records.set(key, now), checking);
  return { ...checked, quarantined };
}

async function check(file: string, expected: Measure, checking: VerifyOptions): Promise<Omit<Verified, 'quarantined'>> {
  const sha256 = await sha256Of(file, checking);
  const bytes = (await fileSize(file)) ?? 0;
  const why = findMismatch({ bytes, sha256, head: await beginning(file) }, expected) ?? '';
  const verdict = why !== '' ? 'BAD' : expected.sha256 === undefined ? 'UNKNOWN' : 'GOOD';
  return { file, bytes, sha256, verdict, why };
}

async function beginning(file: string): Promise<string> {
  const handle = await open(file);
  try {
    return await readMagic(handle);
  } finally {
    await handle.close();
  }
}

async function quarantine(file: string): Promise<string> {
  await using _ = await acquireLock(file);
  await rename(file, badPath(file));
  return badPath(file);
}
