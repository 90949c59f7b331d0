import { uptime } from 'node:os';
import { createHash, type Hash } from 'node:crypto';
import { type FileHandle, lstat, rename, rm } from 'node:fs/promises';
import { dirname } from 'node:path';
import { makeFolder, readTextIfFile, syncFolder, writeAtomic } from '../../../base/filesystem.ts';
import { createReader, type FromSchema, type ObjectSchema, readJsonText } from '../../../protocol/schema.ts';
import type { RemoteFile } from '../hub/remoteFile.ts';
import type { Target } from '../target.ts';
import { type ActualFile, partialFileSize, readMagic, isSameFile, openExclusive, hashRange } from './modelFile.ts';
import { Fault } from '../../../protocol/fault.ts';

const stringType = { type: 'string' } as const;
const numberType = { type: 'number' } as const;

// Written before the first byte. A partial file without matching metadata is discarded.
const resumeInfoSchema = {
  type: 'object',
  required: ['repo', 'revision', 'file', 'etag', 'bytes', 'serverTag', 'flushed', 'digest', 'bootedAt'],
  properties: {
    repo: stringType,
    revision: stringType,
    file: stringType,
    // What the hub reported: its ETag, and the size of the whole file (0 = not known).
    etag: stringType,
    bytes: numberType,
    // Validator of the host that delivers, which need not be the hub: its strong ETag or its Last-Modified, for If-Range.
    serverTag: stringType,
    // This many bytes were flushed to the disk and survive a power cut; `digest` is their SHA-256.
    flushed: numberType,
    digest: stringType,
    // When the machine started, in Unix seconds. Bytes that were written but not flushed are lost when it goes down.
    bootedAt: numberType,
  },
} as const satisfies ObjectSchema;

/** Resume metadata of a partial file: the content of `.part.json`. */
type ResumeInfo = FromSchema<typeof resumeInfoSchema>;

const validateResumeInfo = createReader(resumeInfoSchema);
const bootToleranceSeconds = 60;

export const partialPath = (target: string): string => `${target}.part`;
export const resumeInfoPath = (partialFile: string): string => `${partialFile}.json`;

/** Resume metadata of a partial file without bytes. */
const createResumeInfo = ({ repo, revision, file }: Target, { etag, bytes = 0 }: RemoteFile): ResumeInfo => ({
  repo,
  revision,
  file,
  etag,
  bytes,
  serverTag: '',
  flushed: 0,
  digest: '',
  bootedAt: currentBootedAt(),
});

/** Resume metadata; undefined: missing or invalid. @throws the system's error: the partial file is kept then. */
const readResumeInfo = async (partialFile: string): Promise<ResumeInfo | undefined> =>
  readJsonText(await readTextIfFile(resumeInfoPath(partialFile)), validateResumeInfo);

const isSameVersion = (a: ResumeInfo, b: ResumeInfo): boolean =>
  (['repo', 'revision', 'file', 'etag', 'bytes'] as const).every((name) => a[name] === b[name]);

const isSameBoot = ({ bootedAt }: ResumeInfo): boolean => Math.abs(currentBootedAt() - bootedAt) < bootToleranceSeconds;

/** Bytes of an earlier attempt at this version; `PartialFile.open` may trust fewer. @throws as `readResumeInfo`. */
export async function resumableBytes(target: Target, remoteFile: RemoteFile): Promise<number> {
  const path = partialPath(target.path);
  const previous = await readResumeInfo(path);
  if (!previous || !isSameVersion(previous, createResumeInfo(target, remoteFile))) return 0;
  return (await partialFileSize(path)) ?? 0;
}

const currentBootedAt = (): number => Date.now() / 1000 - uptime();

const flushEveryBytes = 32 * 2 ** 20;

/**
 * Partial file of a download (`.part`, with resume metadata in `.part.json`): grows, survives the end of the process, and
 * is renamed to its target when it is complete and verified. What `open` keeps of an earlier attempt:
 *
 * | what happened | on disk | kept |
 * | --- | --- | --- |
 * | cancelled, or an error | all bytes, flushed | all |
 * | process crashed or was killed | all bytes that were written; the system has them | all, if the flushed ones match `digest` |
 * | power cut, system crash, reboot | flushed bytes; after them undefined content | the flushed ones, if they match `digest` |
 * | crash in `restart` | an empty file with old metadata, or with new | none |
 * | crash in `commit` after the rename | the complete file, and metadata | the file; the metadata is overwritten |
 * | metadata is missing, invalid, or of another file, revision or ETag | no matter what | none |
 * | a symbolic link, or a file with a second name | not followed, not written to: replaced by a new file | none |
 * | the file is shorter than `flushed`, or longer than the whole file | no matter what | none |
 */
export class PartialFile implements AsyncDisposable {
  readonly #path: string;
  readonly #target: Target;
  readonly #file: FileHandle;
  #hash: Hash;
  #resumeInfo: ResumeInfo;
  #bytes: number;
  #flushing: Promise<void> | undefined;
  #closed = false;

  private constructor(target: Target, file: FileHandle, hash: Hash, resumeInfo: ResumeInfo, bytes: number) {
    this.#path = partialPath(target.path);
    this.#target = target;
    this.#file = file;
    this.#hash = hash;
    this.#resumeInfo = resumeInfo;
    this.#bytes = bytes;
  }

  /** Opens the partial file of a target, and resumes an earlier attempt as far as its bytes can be trusted. @throws the system's error; the signal's reason. */
  static async open(target: Target, remoteFile: RemoteFile, signal: AbortSignal): Promise<PartialFile> {
    const path = partialPath(target.path);
    const resumeInfo = createResumeInfo(target, remoteFile);
    await makeFolder(dirname(path));
    const previous = await readResumeInfo(path);
    const file = await openExclusive(path);
    try {
      const prefix =
        previous && isSameVersion(previous, resumeInfo) ? await readTrustedPrefix(file, previous, signal) : undefined;
      if (previous && prefix) {
        await file.truncate(prefix.bytes);
        const resumed = { ...previous, bootedAt: resumeInfo.bootedAt };
        await writeAtomic(resumeInfoPath(path), JSON.stringify(resumed));
        return new PartialFile(target, file, prefix.hash, resumed, prefix.bytes);
      }
      await file.truncate(0);
      await file.sync();
      await writeAtomic(resumeInfoPath(path), JSON.stringify(resumeInfo));
      return new PartialFile(target, file, createHash('sha256'), resumeInfo, 0);
    } catch (error) {
      await file.close();
      throw error;
    }
  }

  get bytes(): number {
    return this.#bytes;
  }

  /** Validator of the host that delivered the bytes so far, for If-Range: a strong ETag or a date; "" = none. */
  get validator(): string {
    return this.#resumeInfo.serverTag;
  }

  /** Discards all bytes, and records which version of the file the next ones belong to. */
  async restart(remoteFile: RemoteFile, validator: string): Promise<void> {
    await this.#flushing;
    await this.#file.truncate(0);
    // Empty on disk before the new metadata is: old bytes must never appear to belong to the new version.
    await this.#file.sync();
    this.#hash = createHash('sha256');
    this.#bytes = 0;
    this.#resumeInfo = { ...createResumeInfo(this.#target, remoteFile), serverTag: validator };
    await writeAtomic(resumeInfoPath(this.#path), JSON.stringify(this.#resumeInfo));
  }

  /** Appends a chunk. @throws the system's error of this write, or of the last flush. */
  async append(chunk: Uint8Array): Promise<void> {
    for (let offset = 0; offset < chunk.byteLength;) {
      const { bytesWritten } = await this.#file.write(chunk, offset, chunk.byteLength - offset, this.#bytes);
      this.#hash.update(chunk.subarray(offset, offset + bytesWritten));
      offset += bytesWritten;
      this.#bytes += bytesWritten;
    }
    if (this.#bytes - this.#resumeInfo.flushed < flushEveryBytes) return;
    // Flushes in the background, so that the next chunks are written meanwhile; waits for the flush before this one.
    const previousFlush = this.#flushing;
    this.#flushing = this.#flush(previousFlush);
    this.#flushing.catch(() => undefined);
    await previousFlush;
  }

  /** What all bytes so far are. */
  async readContent(): Promise<ActualFile> {
    return { bytes: this.#bytes, sha256: this.#digest(), magic: await readMagic(this.#file) };
  }

  /** Flushes and renames the file, atomically. @throws Fault DOWNLOAD_FAILED when its place is taken; system errors. */
  async commit(): Promise<void> {
    await this.#flushing;
    await this.#file.sync();
    const inPlace = await lstat(this.#path, { bigint: true });
    if (!isSameFile(await this.#file.stat({ bigint: true }), inPlace))
      throw new Fault('DOWNLOAD_FAILED', `something else took the place of ${this.#path}; remove it, and try again`);
    await this.#close();
    await rename(this.#path, this.#target.path);
    await syncFolder(dirname(this.#path));
    await rm(resumeInfoPath(this.#path), { force: true });
  }

  /** Renames a file with wrong content to `.bad`, which nothing uses. Returns the new path. */
  async quarantine(): Promise<string> {
    await this.#flushing;
    await this.#close();
    const path = badPath(this.#target.path);
    await rename(this.#path, path);
    await rm(resumeInfoPath(this.#path), { force: true });
    return path;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    if (this.#closed) return;
    // On a full disk the metadata stays as it was: the next attempt then trusts fewer bytes.
    await this.#flush(this.#flushing).catch(() => undefined);
    await this.#close().catch(() => undefined);
  }

  #digest(): string {
    return this.#hash.copy().digest('hex');
  }

  async #flush(previousFlush: Promise<void> | undefined): Promise<void> {
    const [flushed, digest] = [this.#bytes, this.#digest()];
    this.#resumeInfo = { ...this.#resumeInfo, flushed, digest };
    const resumeInfo = JSON.stringify(this.#resumeInfo);
    await previousFlush;
    await this.#file.datasync();
    await writeAtomic(resumeInfoPath(this.#path), resumeInfo);
  }

  async #close(): Promise<void> {
    if (this.#closed) return;
    this.#closed = true;
    await this.#file.close();
  }
}

/** Path of a target whose content turned out to be wrong. */
export const badPath = (target: string): string => `${target}.bad`;

// The bytes after the flushed ones need no hash of their own in the same boot: appending leaves no hole when a process is killed.
async function readTrustedPrefix(partialFile: FileHandle, resumeInfo: ResumeInfo, signal: AbortSignal) {
  const { bytes: wholeBytes, flushed, digest } = resumeInfo;
  const { size } = await partialFile.stat();
  if (size < flushed || (wholeBytes > 0 && size > wholeBytes)) return undefined;
  const hash = createHash('sha256');
  await hashRange(hash, partialFile, { from: 0, to: flushed, signal });
  if (flushed > 0 && hash.copy().digest('hex') !== digest) return undefined;
  if (!isSameBoot(resumeInfo)) return { bytes: flushed, hash };
  await hashRange(hash, partialFile, { from: flushed, to: size, signal });
  return { bytes: size, hash };
}
