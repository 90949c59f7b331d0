import type { BigIntStats } from 'node:fs';
import { realpath, rename, stat } from 'node:fs/promises';
import { fileSize, findMismatch, isUnchanged, readContent, type ReadOptions } from './disk/modelFile.ts';
import { acquireLock } from './disk/lockFile.ts';
import type { LockWait } from './disk/manifest.ts';
import { badPath } from './disk/partialFile.ts';
import { blobHash } from './hub/endpoint.ts';
import { type SearchPaths, locateFiles, locateLoras, type LocatedLora } from './locate.ts';
import { expectedByCatalogue, targetsOrEmpty, type ExpectedFile, type ModelSource, type Target } from './target.ts';

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

type VerifyOptions = LockWait & ReadOptions;

/**
 * Reads all files of a model again and compares size and SHA-256. A bad file of the models folder is quarantined as `.bad`;
 * files of the user, of the Hugging Face cache and of a folder that cannot be written are left alone.
 * @throws Fault DOWNLOAD_ALREADY_ACTIVE when another process works on a bad file; the signal's reason; the system's error.
 */
export async function verify(
  source: ModelSource,
  paths: SearchPaths,
  options: VerifyOptions,
): Promise<readonly Verified[]> {
  const results = await verifyModel(source, paths, options);
  for (const lora of await locateLoras(source, paths)) results.push(...(await verifyLora(lora, paths, options)));
  return results;
}

async function verifyModel(source: ModelSource, paths: SearchPaths, options: VerifyOptions): Promise<Verified[]> {
  const located = await locateFiles(source, paths);
  const results: Verified[] = [];
  if (located && located.source !== 'folder') {
    const expected = expectedByCatalogue(source.variants[0]);
    for (const file of located.files) results.push(await verifyInPlace(file, expected, options));
    return results;
  }
  for (const target of targetsOrEmpty(source, paths.folder)) {
    if ((await fileSize(target.path)) !== undefined) results.push(await verifyDownloaded(target, paths, options));
  }
  return results;
}

async function verifyLora(
  { target, path, expected }: LocatedLora,
  paths: SearchPaths,
  options: VerifyOptions,
): Promise<readonly Verified[]> {
  if (target && (await fileSize(target.path)) !== undefined) return [await verifyDownloaded(target, paths, options)];
  return path === undefined ? [] : [await verifyInPlace(path, expected, options)];
}

async function verifyInPlace(file: string, { bytes, sha256 }: ExpectedFile, options: VerifyOptions): Promise<Verified> {
  const expected = { bytes, sha256: sha256 ?? blobHash(await realpath(file)) };
  const { identity: _, ...result } = await verifyFile(file, expected, options);
  return { ...result, quarantined: '' };
}

async function verifyDownloaded(
  { path, key, expected }: Target,
  { manifest }: SearchPaths,
  options: VerifyOptions,
): Promise<Verified> {
  for (;;) {
    const record = (await manifest.read()).get(key);
    const known = { bytes: expected.bytes ?? record?.bytes, sha256: expected.sha256 ?? (record?.sha256 || undefined) };
    const { identity, ...result } = await verifyFile(path, known, options);
    // In a folder that cannot be written, a bad file stays, and a hash is not recorded: the result counts all the same.
    const quarantined = result.verdict === 'BAD' ? await quarantine(path, identity).catch(emptyIfUnwritable) : '';
    // The file was replaced while it was read, by a download for example: the result is not that of the new one.
    if (quarantined === undefined || (quarantined === '' && !(await isStill(path, identity)))) continue;
    const { bytes, sha256 } = result;
    // Records a hash that was not known before; the update drops the record of a file that was quarantined.
    const newRecord = { commit: '', completed: '', ...record, bytes, sha256 };
    if (record?.sha256 !== sha256)
      await manifest.update((records) => void records.set(key, newRecord), options).catch(emptyIfUnwritable);
    return { ...result, quarantined };
  }
}

async function verifyFile(file: string, expected: ExpectedFile, options: VerifyOptions) {
  const { identity, ...actual } = await readContent(file, options);
  const why = findMismatch(actual, expected) ?? '';
  const verdict: Verified['verdict'] = why !== '' ? 'BAD' : expected.sha256 === undefined ? 'UNKNOWN' : 'GOOD';
  return { file, bytes: actual.bytes, sha256: actual.sha256, verdict, why, identity };
}

const isStill = async (path: string, identity: BigIntStats): Promise<boolean> =>
  isUnchanged(await stat(path, { bigint: true }), identity);

const unwritableCodes = new Set(['EROFS', 'EACCES', 'EPERM', 'ENOSPC', 'EDQUOT']);

function emptyIfUnwritable(error: NodeJS.ErrnoException): '' {
  if (!unwritableCodes.has(String(error.code))) throw error;
  return '';
}

/** Returns the new path of a bad file; undefined = it was replaced by another one, and left alone. */
async function quarantine(file: string, identity: BigIntStats): Promise<string | undefined> {
  await using _ = await acquireLock(file);
  if (!(await isStill(file, identity))) return undefined;
  await rename(file, badPath(file));
  return badPath(file);
}
