import { createHash, type Hash } from 'node:crypto';
import { constants, open, readFile, rename, rm, type FileHandle } from 'node:fs/promises';
import { uptime } from 'node:os';
import { dirname } from 'node:path';
import { makeFolder } from '../../filesystem.ts';
import { createReader, type FromSchema, type ObjectSchema } from '../../schema.ts';
import { syncFolder, writeAtomic } from '../../filesystem.ts';
import { fileSize, readMagic } from './modelFile.ts';
import { hashRange } from './sha256.ts';
import type { RemoteFile } from '../hub/remoteFile.ts';
import type { Target } from '../target.ts';

const stringType = { type: 'string' } as const;
const numberType = { type: 'number' } as const;

// Written before the first byte: without it, or when it tells of another file, the bytes beside it are worth nothing.
const resumeInfoSchema = {
  type: 'object',
  required: ['repo', 'revision', 'file', 'etag', 'bytes', 'serverTag', 'flushed', 'digest', 'bootedAt'],
  properties: {
    repo: stringType,
    revision: stringType,
    file: stringType,
    etag: stringType,
    bytes: numberType,
    // The ETag of the host that delivers, which need not be the hub: for If-Range.
    serverTag: stringType,
    // So many bytes have outlasted a power cut, and this is their hash.
    flushed: numberType,
    digest: stringType,
    // Seconds. What was written and not flushed is there as long as the machine has not gone down.
    bootedAt: numberType,
  },
} as const satisfies ObjectSchema;

type ResumeInfo = FromSchema<typeof resumeInfoSchema>;

const parseResumeInfo = createReader(resumeInfoSchema);
const flushEveryBytes = 32 * 2 ** 20;
const bootToleranceSeconds = 60;

/** The `.part` file of a download: grows, survives the end of the process, and becomes the file. */
export class PartialFile implements AsyncDisposable {
  readonly #path: string;
  readonly #target: string;
  readonly #file: FileHandle;
  #hash: Hash;
  #resumeInfo: ResumeInfo;
  #bytes: number;
  #flushing: Promise<void> | undefined;
  #closed = false;

  private constructor(target: string, file: FileHandle, hash: Hash, resumeInfo: ResumeInfo, bytes: number) {
    this.#path = partialPath(target);
    this.#target = target;
    this.#file = file;
    this.#hash = hash;
    this.#resumeInfo = resumeInfo;
    this.#bytes = bytes;
  }

  /** Opens the part of an offer, with the bytes of it that are there and can be trusted. */
  static async open(target: Target, remoteFile: RemoteFile, signal: AbortSignal): Promise<PartialFile> {
    const path = partialPath(target.path);
    const resumeInfo = createResumeInfo(target, remoteFile);
    await makeFolder(dirname(path));
    const before = await readResumeInfo(path);
    const file = await open(path, constants.O_RDWR | constants.O_CREAT);
    try {
      const kept = before && belongsTo(before, resumeInfo) ? await verifiedPrefix(path, before, signal) : undefined;
      if (before && kept) {
        await file.truncate(kept.bytes);
        const now = { ...before, bootedAt: resumeInfo.bootedAt };
        await writeAtomic(resumeInfoPath(path), JSON.stringify(now));
        return new PartialFile(target.path, file, kept.hash, now, kept.bytes);
      }
      await file.truncate(0);
      await file.sync();
      await writeAtomic(resumeInfoPath(path), JSON.stringify(resumeInfo));
      return new PartialFile(target.path, file, createHash('sha256'), resumeInfo, 0);
    } catch (error) {
      await file.close();
      throw error;
    }
  }

  /** Bytes that are there. */
  get bytes(): number {
    return this.#bytes;
  }

  /** The ETag of the host that delivered them. */
  get serverTag(): string {
    return this.#resumeInfo.serverTag;
  }

  /** Forgets all bytes, and notes what those that come now belong to. */
  async restart(target: Target, remoteFile: RemoteFile, serverTag: string): Promise<void> {
    await this.#flushing;
    await this.#file.truncate(0);
    await this.#file.sync();
    this.#hash = createHash('sha256');
    this.#bytes = 0;
    this.#resumeInfo = { ...createResumeInfo(target, remoteFile), serverTag };
    await writeAtomic(resumeInfoPath(this.#path), JSON.stringify(this.#resumeInfo));
  }

  /** Adds what came. */
  async append(chunk: Uint8Array): Promise<void> {
    for (let from = 0; from < chunk.byteLength;) {
      const { bytesWritten } = await this.#file.write(chunk, from, chunk.byteLength - from, this.#bytes);
      this.#hash.update(chunk.subarray(from, from + bytesWritten));
      from += bytesWritten;
      this.#bytes += bytesWritten;
    }
    if (this.#bytes - this.#resumeInfo.flushed < flushEveryBytes) return;
    // What arrives meanwhile is written all the same.
    const failed = this.#flushing;
    this.#flushing = this.#flush(failed);
    this.#flushing.catch(() => undefined);
    await failed;
  }

  /** The SHA-256 of all bytes so far. */
  digest(): string {
    return this.#hash.copy().digest('hex');
  }

  /** What it begins with. */
  magic(): Promise<string> {
    return readMagic(this.#file);
  }

  /** Makes the part the file. */
  async commit(): Promise<void> {
    await this.#flushing;
    await this.#file.sync();
    await this.#close();
    await rename(this.#path, this.#target);
    await syncFolder(dirname(this.#path));
    await rm(resumeInfoPath(this.#path), { force: true });
  }

  /** Sets the part aside as what nobody should use; returns where it is. */
  async quarantine(): Promise<string> {
    await this.#flushing;
    await this.#close();
    const bad = badPath(this.#target);
    await rename(this.#path, bad);
    await rm(resumeInfoPath(this.#path), { force: true });
    return bad;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    if (this.#closed) return;
    // On a full disk the notes stay as they were: then less is trusted.
    await this.#flush(this.#flushing).catch(() => undefined);
    await this.#close();
  }

  async #flush(before: Promise<void> | undefined): Promise<void> {
    const [flushed, digest] = [this.#bytes, this.digest()];
    this.#resumeInfo = { ...this.#resumeInfo, flushed, digest };
    const resumeInfo = JSON.stringify(this.#resumeInfo);
    await before;
    await this.#file.datasync();
    await writeAtomic(resumeInfoPath(this.#path), resumeInfo);
  }

  async #close(): Promise<void> {
    if (this.#closed) return;
    this.#closed = true;
    await this.#file.close();
  }
}

/** Where a file is while it is being downloaded. */
export const partialPath = (target: string): string => `${target}.part`;
/** Where a file is that turned out to be another than it should be. */
export const badPath = (target: string): string => `${target}.bad`;
/** Where it is written what a part belongs to. */
export const resumeInfoPath = (partialFile: string): string => `${partialFile}.json`;

/** Bytes of an earlier attempt that a download of the offer will go on from. */
export async function resumableBytes(target: Target, remoteFile: RemoteFile): Promise<number> {
  const before = await readResumeInfo(partialPath(target.path));
  return before && belongsTo(before, createResumeInfo(target, remoteFile))
    ? ((await fileSize(partialPath(target.path))) ?? 0)
    : 0;
}

const createResumeInfo = ({ repo, revision, file }: Target, { etag, bytes = 0 }: RemoteFile): ResumeInfo => ({
  repo,
  revision,
  file,
  etag,
  bytes,
  serverTag: '',
  flushed: 0,
  digest: '',
  bootedAt: Date.now() / 1000 - uptime(),
});

async function readResumeInfo(partialFile: string): Promise<ResumeInfo | undefined> {
  try {
    const reading = parseResumeInfo(JSON.parse(await readFile(resumeInfoPath(partialFile), 'utf8')));
    return reading.ok ? reading.value : undefined;
  } catch {
    return undefined;
  }
}

const belongsTo = (resumeInfo: ResumeInfo, to: ResumeInfo): boolean =>
  (['repo', 'revision', 'file', 'etag', 'bytes'] as const).every((name) => resumeInfo[name] === to[name]);

// Appending leaves no hole when a process is killed. When the machine went down, only what was flushed counts.
async function verifiedPrefix(
  partialFile: string,
  { bytes, flushed, digest, bootedAt }: ResumeInfo,
  signal: AbortSignal,
): Promise<{ readonly bytes: number; readonly hash: Hash } | undefined> {
  const there = (await fileSize(partialFile)) ?? 0;
  if (there < flushed || (bytes > 0 && there > bytes)) return undefined;
  const sameBoot = Math.abs(Date.now() / 1000 - uptime() - bootedAt) < bootToleranceSeconds;
  const hash = createHash('sha256');
  await hashRange(hash, partialFile, { from: 0, to: flushed, signal });
  if (flushed > 0 && hash.copy().digest('hex') !== digest) return undefined;
  if (!sameBoot) return { bytes: flushed, hash };
  await hashRange(hash, partialFile, { from: flushed, to: there, signal });
  return { bytes: there, hash };
}
