import { type FileHandle, open } from 'node:fs/promises';
import type { LlamaContextSequence } from 'node-llama-cpp';
import type { StateFile, StateFiles } from '../cacheFiles.ts';

/**
 * Loads a saved state into a cache. The file of a state names the number of sequences of its context, and llama.cpp loads it
 * into a context with as many only; for another one a copy of the file with that number is written. The state of a sequence
 * does not depend on it. One that is not as long as it was written is not loaded: llama.cpp may end the process.
 * @param spare where the copy is written.
 * @returns false when the file has another size, or there is no room for the copy, or it cannot be made; the cache is as before
 * then.
 * @throws when the state cannot be loaded; the contents of the cache are unknown then.
 */
export async function loadState(
  cache: LlamaContextSequence,
  { path, bytes }: { readonly path: string; readonly bytes: number },
  spare: StateFiles,
): Promise<boolean> {
  const { isRecurrent, isHybrid } = cache.model.fileInsights;
  const { totalSequences } = cache.context;
  await using file = await open(path);
  if ((await file.stat()).size !== bytes) return false;
  const isAsSaved = isRecurrent || (await readStreamCount(file)) === totalSequences;
  const copying = isAsSaved ? undefined : copyWithStreams(file, totalSequences, { isHybrid, spare });
  const copy = await copying?.catch(() => undefined);
  if (!isAsSaved && !copy) return false;
  try {
    // The library would keep the checkpoints of the tokens that the cache held before, and resume at them.
    if (cache.needsCheckpoints) await cache.adaptStateToTokens([], false);
    await cache.loadStateFromFile(copy?.path ?? path, { acceptRisk: true });
    return true;
  } finally {
    await copy?.drop();
  }
}

async function copyWithStreams(
  source: FileHandle,
  streams: number,
  { isHybrid, spare }: { readonly isHybrid: boolean; readonly spare: StateFiles },
): Promise<StateFile | undefined> {
  const caches = await readSavedCaches(source, isHybrid);
  if (!caches || caches.some((cache) => cache.streams.length > streams)) return undefined;
  const { size } = await source.stat();
  const copy = await spare.reserve(size + caches.length * (streams + 1) * wordBytes, () => undefined);
  if (!copy) return undefined;
  try {
    await using target = await open(copy.path, 'w', 0o600);
    for (const part of partsWithStreams(caches, streams, size)) {
      if (Buffer.isBuffer(part)) await target.appendFile(part);
      else await copyRange(source, target, part);
    }
    return copy;
  } catch (error) {
    await copy.drop();
    throw error;
  }
}

/** The parts of a file with so many streams: those of the source, and new bytes. */
function partsWithStreams(caches: readonly SavedCache[], count: number, size: number): readonly (FileRange | Buffer)[] {
  const parts: (FileRange | Buffer)[] = [];
  let done = 0;
  for (const { from, to, streams } of caches) {
    const emptyStreams = Buffer.alloc((count - streams.length) * wordBytes);
    parts.push({ from: done, to: from }, word(count), ...streams, emptyStreams);
    done = to;
  }
  return [...parts, { from: done, to: size }];
}

async function copyRange(source: FileHandle, target: FileHandle, { from, to }: FileRange): Promise<void> {
  const buffer = Buffer.allocUnsafe(Math.min(copyBytes, to - from));
  for (let position = from; position < to;) {
    const { bytesRead } = await source.read(buffer, 0, Math.min(buffer.length, to - position), position);
    if (bytesRead === 0) throw new Error('the file of a state became shorter while it was read');
    await target.appendFile(buffer.subarray(0, bytesRead));
    position += bytesRead;
  }
}

function word(value: number): Buffer {
  const bytes = Buffer.alloc(wordBytes);
  bytes.writeUInt32LE(value);
  return bytes;
}

const copyBytes = 2 ** 20;

/** A part of a file, in bytes. */
interface FileRange {
  readonly from: number;
  readonly to: number;
}

interface SavedCache extends FileRange {
  /** The cells of each stream that has some. All other streams are a count of 0. */
  readonly streams: readonly FileRange[];
}

const magic = 0x67677371;
const version = 3;
const wordBytes = 4;
const cellBytes = 3 * wordBytes;
const maxStreams = 256;

/** The number of streams (sequences) in the file of a KV state; undefined: the file is of another version. */
async function readStreamCount(file: FileHandle): Promise<number | undefined> {
  const start = await readStart(file);
  return start && (await readWords(file, start, 1))[0];
}

/**
 * Finds the KV caches in the file of a state. A sliding window has one of its own, after that of the other layers.
 * @param isHybrid the first cache is followed by a recurrent state, which has no streams.
 * @returns undefined when the file is not as expected.
 */
async function readSavedCaches(file: FileHandle, isHybrid: boolean): Promise<readonly SavedCache[] | undefined> {
  try {
    const { size } = await file.stat();
    const caches: SavedCache[] = [];
    let offset = await readStart(file);
    const maxCaches = isHybrid ? 1 : 2;
    while (offset !== undefined && offset < size && caches.length < maxCaches) {
      const cache = await readCache(file, offset);
      caches.push(cache);
      offset = cache.to;
    }
    const isWhole = isHybrid ? (offset ?? size) < size : offset === size;
    return isWhole ? caches : undefined;
  } catch (error) {
    if (error instanceof RangeError) return undefined;
    throw error;
  }
}

/** Where the first cache begins: after the tokens. */
async function readStart(file: FileHandle): Promise<number | undefined> {
  const [ownMagic, ownVersion, tokens = 0] = await readWords(file, 0, 3);
  return ownMagic === magic && ownVersion === version ? (3 + tokens) * wordBytes : undefined;
}

async function readCache(file: FileHandle, from: number): Promise<SavedCache> {
  const [count = 0] = await readWords(file, from, 1);
  if (count > maxStreams) throw new RangeError('these are no streams');
  const streams: FileRange[] = [];
  let to = from + wordBytes;
  for (let stream = 0; stream < count; stream++) {
    const [cells = 0] = await readWords(file, to, 1);
    const end = cells === 0 ? to + wordBytes : await endOfCells(file, to + wordBytes, cells);
    if (cells > 0) streams.push({ from: to, to: end });
    to = end;
  }
  return { from, to, streams };
}

/** Cells: the position and the one sequence of each; then the keys of all layers, then their values. */
async function endOfCells(file: FileHandle, from: number, cells: number): Promise<number> {
  const { size } = await file.stat();
  if (cells * cellBytes > size) throw new RangeError('these are no cells');
  const words = await readWords(file, from, cells * 3);
  if (words.some((word, index) => index % 3 === 1 && word !== 1)) throw new RangeError('a cell has other facts');
  let offset = from + cells * cellBytes;
  const [areValuesTransposed = 0, layers = 0] = await readWords(file, offset, 2);
  offset += 2 * wordBytes;
  for (let part = 0; part < 2 * layers; part++) {
    // The type; then the size of a row in 64 bits, or that of an element and the number of elements of a cell.
    const [, low = 0, high = 0] = await readWords(file, offset, 3);
    const rowBytes = part >= layers && areValuesTransposed ? low * high : low + high * 2 ** 32;
    offset += 3 * wordBytes + rowBytes * cells;
  }
  return offset;
}

/** @throws RangeError when the file ends before. */
async function readWords(file: FileHandle, position: number, count: number): Promise<readonly number[]> {
  const bytes = Buffer.alloc(count * wordBytes);
  const { bytesRead } = await file.read(bytes, 0, bytes.length, position);
  if (bytesRead < bytes.length) throw new RangeError('the file ends within a number');
  return Array.from({ length: count }, (_, index) => bytes.readUInt32LE(index * wordBytes));
}
