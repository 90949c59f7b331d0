import { open, realpath, rename } from 'node:fs/promises';
import type { Measure } from './downloadRange.ts';
import { whyWrong } from './downloadFile.ts';
import { bytesOf, headOf } from './disk/atomicFile.ts';
import { find, sought, type Places } from './locate.ts';
import { sha256Of } from './disk/sha256.ts';
import { blobHash } from './hub/localCache.ts';
import type { Waiting } from './disk/manifest.ts';
import { takeLock } from './disk/lockFile.ts';
import { badOf } from './disk/partialFile.ts';
import type { Target, Wanted } from './target.ts';

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
  readonly setAside: string;
}

/** How a check is waited for. */
export interface Checking extends Waiting {
  /** Told how many bytes have been read. */
  readonly onBytes: (bytes: number) => void;
}

/** Reads all files of a model again and compares their hashes; a downloaded file that is bad is set aside. */
export async function verify(wanted: Wanted, places: Places, checking: Checking): Promise<readonly Verified[]> {
  const found = await find(wanted, places);
  const targets = sought(wanted, places.folder);
  const results: Verified[] = [];
  if (found && found.place !== 'folder') {
    const alone = found.files.length === 1 ? wanted.variants[0] : undefined;
    for (const file of found.files) {
      const must = { bytes: alone?.size_bytes, sha256: alone?.sha256 ?? blobHash(await realpath(file)) };
      results.push({ ...(await check(file, must, checking)), setAside: '' });
    }
    return results;
  }
  for (const target of targets) {
    if ((await bytesOf(target.path)) !== undefined) results.push(await verifyOurs(target, places, checking));
  }
  return results;
}

async function verifyOurs(target: Target, { ledger }: Places, checking: Checking): Promise<Verified> {
  const { path, key, expected } = target;
  const record = (await ledger.read()).get(key);
  const must = { bytes: expected.bytes ?? record?.bytes, sha256: expected.sha256 ?? (record?.sha256 || undefined) };
  const checked = await check(path, must, checking);
  const setAside = checked.verdict === 'BAD' ? await outOfUse(path) : '';
  const { bytes, sha256 } = checked;
  // What was not known is known from now on, and the record of a file that is gone goes too.
  const now = { commit: '', completed: '', ...record, bytes, sha256 };
  if (record?.sha256 !== sha256) await ledger.change((records) => void records.set(key, now), checking);
  return { ...checked, setAside };
}

async function check(file: string, must: Measure, checking: Checking): Promise<Omit<Verified, 'setAside'>> {
  const sha256 = await sha256Of(file, checking);
  const bytes = (await bytesOf(file)) ?? 0;
  const why = whyWrong({ bytes, sha256, head: await beginning(file) }, must) ?? '';
  const verdict = why !== '' ? 'BAD' : must.sha256 === undefined ? 'UNKNOWN' : 'GOOD';
  return { file, bytes, sha256, verdict, why };
}

async function beginning(file: string): Promise<string> {
  const handle = await open(file);
  try {
    return await headOf(handle);
  } finally {
    await handle.close();
  }
}

async function outOfUse(file: string): Promise<string> {
  await using _ = await takeLock(file);
  await rename(file, badOf(file));
  return badOf(file);
}
