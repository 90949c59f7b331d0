import { createHash, type Hash } from 'node:crypto';
import { constants, open, readFile, rename, rm, type FileHandle } from 'node:fs/promises';
import { uptime } from 'node:os';
import { dirname } from 'node:path';
import { makeFolder } from '../../filesystem.ts';
import { reader, type FromSchema, type ObjectSchema } from '../../schema.ts';
import { bytesOf, headOf, syncFolder, writeWhole } from './atomicFile.ts';
import { addFile } from './sha256.ts';
import type { Offer } from '../hub/remoteFile.ts';
import type { Target } from '../target.ts';

const text = { type: 'string' } as const;
const number = { type: 'number' } as const;

// Written before the first byte: without it, or when it tells of another file, the bytes beside it are worth nothing.
const notesSchema = {
  type: 'object',
  required: ['repo', 'revision', 'file', 'etag', 'bytes', 'serverTag', 'flushed', 'digest', 'bootedAt'],
  properties: {
    repo: text,
    revision: text,
    file: text,
    etag: text,
    bytes: number,
    // The ETag of the host that delivers, which need not be the hub: for If-Range.
    serverTag: text,
    // So many bytes have outlasted a power cut, and this is their hash.
    flushed: number,
    digest: text,
    // Seconds. What was written and not flushed is there as long as the machine has not gone down.
    bootedAt: number,
  },
} as const satisfies ObjectSchema;

type Notes = FromSchema<typeof notesSchema>;

const readNotes = reader(notesSchema);
const flushEvery = 32 * 2 ** 20;
const bootTolerance = 60;

/** The `.part` file of a download: grows, survives the end of the process, and becomes the file. */
export class Part implements AsyncDisposable {
  readonly #path: string;
  readonly #target: string;
  readonly #file: FileHandle;
  #hash: Hash;
  #notes: Notes;
  #bytes: number;
  #flushing: Promise<void> | undefined;
  #closed = false;

  private constructor(target: string, file: FileHandle, hash: Hash, notes: Notes, bytes: number) {
    this.#path = partOf(target);
    this.#target = target;
    this.#file = file;
    this.#hash = hash;
    this.#notes = notes;
    this.#bytes = bytes;
  }

  /** Opens the part of an offer, with the bytes of it that are there and can be trusted. */
  static async open(target: Target, offer: Offer, signal: AbortSignal): Promise<Part> {
    const path = partOf(target.path);
    const notes = notesFor(target, offer);
    await makeFolder(dirname(path));
    const before = await notesOf(path);
    const file = await open(path, constants.O_RDWR | constants.O_CREAT);
    try {
      const kept = before && belongsTo(before, notes) ? await trusted(path, before, signal) : undefined;
      if (before && kept) {
        await file.truncate(kept.bytes);
        const now = { ...before, bootedAt: notes.bootedAt };
        await writeWhole(notesPath(path), JSON.stringify(now));
        return new Part(target.path, file, kept.hash, now, kept.bytes);
      }
      await file.truncate(0);
      await file.sync();
      await writeWhole(notesPath(path), JSON.stringify(notes));
      return new Part(target.path, file, createHash('sha256'), notes, 0);
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
    return this.#notes.serverTag;
  }

  /** Forgets all bytes, and notes what those that come now belong to. */
  async restart(target: Target, offer: Offer, serverTag: string): Promise<void> {
    await this.#flushing;
    await this.#file.truncate(0);
    await this.#file.sync();
    this.#hash = createHash('sha256');
    this.#bytes = 0;
    this.#notes = { ...notesFor(target, offer), serverTag };
    await writeWhole(notesPath(this.#path), JSON.stringify(this.#notes));
  }

  /** Adds what came. */
  async append(chunk: Uint8Array): Promise<void> {
    for (let from = 0; from < chunk.byteLength;) {
      const { bytesWritten } = await this.#file.write(chunk, from, chunk.byteLength - from, this.#bytes);
      this.#hash.update(chunk.subarray(from, from + bytesWritten));
      from += bytesWritten;
      this.#bytes += bytesWritten;
    }
    if (this.#bytes - this.#notes.flushed < flushEvery) return;
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
  head(): Promise<string> {
    return headOf(this.#file);
  }

  /** Makes the part the file. */
  async become(): Promise<void> {
    await this.#flushing;
    await this.#file.sync();
    await this.#close();
    await rename(this.#path, this.#target);
    await syncFolder(dirname(this.#path));
    await rm(notesPath(this.#path), { force: true });
  }

  /** Sets the part aside as what nobody should use; returns where it is. */
  async setAside(): Promise<string> {
    await this.#flushing;
    await this.#close();
    const bad = badOf(this.#target);
    await rename(this.#path, bad);
    await rm(notesPath(this.#path), { force: true });
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
    this.#notes = { ...this.#notes, flushed, digest };
    const notes = JSON.stringify(this.#notes);
    await before;
    await this.#file.datasync();
    await writeWhole(notesPath(this.#path), notes);
  }

  async #close(): Promise<void> {
    if (this.#closed) return;
    this.#closed = true;
    await this.#file.close();
  }
}

/** Where a file is while it is being downloaded. */
export const partOf = (target: string): string => `${target}.part`;
/** Where a file is that turned out to be another than it should be. */
export const badOf = (target: string): string => `${target}.bad`;
/** Where it is written what a part belongs to. */
export const notesPath = (part: string): string => `${part}.json`;

/** Bytes of an earlier attempt that a download of the offer will go on from. */
export async function keptBytes(target: Target, offer: Offer): Promise<number> {
  const before = await notesOf(partOf(target.path));
  return before && belongsTo(before, notesFor(target, offer)) ? ((await bytesOf(partOf(target.path))) ?? 0) : 0;
}

const notesFor = ({ repo, revision, file }: Target, { etag, bytes = 0 }: Offer): Notes => ({
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

async function notesOf(part: string): Promise<Notes | undefined> {
  try {
    const reading = readNotes(JSON.parse(await readFile(notesPath(part), 'utf8')));
    return reading.ok ? reading.value : undefined;
  } catch {
    return undefined;
  }
}

const belongsTo = (notes: Notes, to: Notes): boolean =>
  (['repo', 'revision', 'file', 'etag', 'bytes'] as const).every((name) => notes[name] === to[name]);

// Appending leaves no hole when a process is killed. When the machine went down, only what was flushed counts.
async function trusted(
  part: string,
  { bytes, flushed, digest, bootedAt }: Notes,
  signal: AbortSignal,
): Promise<{ readonly bytes: number; readonly hash: Hash } | undefined> {
  const there = (await bytesOf(part)) ?? 0;
  if (there < flushed || (bytes > 0 && there > bytes)) return undefined;
  const sameBoot = Math.abs(Date.now() / 1000 - uptime() - bootedAt) < bootTolerance;
  const hash = createHash('sha256');
  await addFile(hash, part, { from: 0, to: flushed, signal });
  if (flushed > 0 && hash.copy().digest('hex') !== digest) return undefined;
  if (!sameBoot) return { bytes: flushed, hash };
  await addFile(hash, part, { from: flushed, to: there, signal });
  return { bytes: there, hash };
}
