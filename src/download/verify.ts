import { realpath, rename } from 'node:fs/promises';
import { acquireLock } from './disk/lockFile.ts';
import type { LockWait } from './disk/manifest.ts';
import { fileSize, findMismatch, readFileMagic } from './disk/modelFile.ts';
import { badPath } from './disk/partialFile.ts';
import { hashFile } from './disk/sha256.ts';
import { blobHash } from './hub/localCache.ts';
import { locateModel, type SearchPaths } from './locate.ts';
import { targetsOrEmpty, type ExpectedFile, type ModelSource, type Target } from './target.ts';

/** Result of the verification of one file. */
export interface Verified {
  readonly file: string;
  readonly bytes: number;
  readonly sha256: string;
  /** UNKNOWN: neither catalogue nor record nor cache give a hash to compare with. */
  readonly verdict: 'GOOD' | 'BAD' | 'UNKNOWN';
  /** How the file differs; "" = in nothing. */
  readonly why: string;
  /** The new path of a downloaded file that was bad; "" = it was not moved. */
  readonly quarantined: string;
}

/** How a model is verified. */
export interface VerifyOptions extends LockWait {
  /** Receives the size of each chunk that has been read. */
  readonly onBytes: (bytes: number) => void;
}

/**
 * Reads all files of a model again and compares size and SHA-256. A bad file of the models folder is quarantined as `.bad`;
 * files of the user and of the Hugging Face cache are left alone.
 * @throws Fault DOWNLOAD_ALREADY_ACTIVE when another process works on a bad file; the signal's reason; the system's error.
 */
export async function verify(
  source: ModelSource,
  paths: SearchPaths,
  options: VerifyOptions,
): Promise<readonly Verified[]> {
  const located = await locateModel(source, paths);
  const results: Verified[] = [];
  if (located && located.source !== 'folder') {
    // Size and hash of an entry are those of its one file.
    const variant = located.files.length === 1 ? source.variants[0] : undefined;
    for (const file of located.files) {
      const expected = { bytes: variant?.size_bytes, sha256: variant?.sha256 ?? blobHash(await realpath(file)) };
      results.push({ ...(await verifyFile(file, expected, options)), quarantined: '' });
    }
    return results;
  }
  for (const target of targetsOrEmpty(source, paths.folder)) {
    if ((await fileSize(target.path)) !== undefined) results.push(await verifyDownloaded(target, paths, options));
  }
  return results;
}

async function verifyDownloaded(
  { path, key, expected }: Target,
  { manifest }: SearchPaths,
  options: VerifyOptions,
): Promise<Verified> {
  const record = (await manifest.read()).get(key);
  const result = await verifyFile(
    path,
    { bytes: expected.bytes ?? record?.bytes, sha256: expected.sha256 ?? (record?.sha256 || undefined) },
    options,
  );
  const quarantined = result.verdict === 'BAD' ? await quarantine(path) : '';
  const { bytes, sha256 } = result;
  // Records a hash that was not known before; the update drops the record of a file that was quarantined.
  const newRecord = { commit: '', completed: '', ...record, bytes, sha256 };
  if (record?.sha256 !== sha256) await manifest.update((records) => void records.set(key, newRecord), options);
  return { ...result, quarantined };
}

async function verifyFile(
  file: string,
  expected: ExpectedFile,
  options: VerifyOptions,
): Promise<Omit<Verified, 'quarantined'>> {
  const sha256 = await hashFile(file, options);
  const bytes = (await fileSize(file)) ?? 0;
  const why = findMismatch({ bytes, sha256, magic: await readFileMagic(file) }, expected) ?? '';
  const verdict = why !== '' ? 'BAD' : expected.sha256 === undefined ? 'UNKNOWN' : 'GOOD';
  return { file, bytes, sha256, verdict, why };
}

async function quarantine(file: string): Promise<string> {
  await using _ = await acquireLock(file);
  await rename(file, badPath(file));
  return badPath(file);
}
