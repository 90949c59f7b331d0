import type { FileHandle } from 'node:fs/promises';

/** A part of a file, in bytes. */
export interface FileRange {
  readonly from: number;
  readonly to: number;
}

/** What a saved state has of one KV cache of its context. */
export interface SavedCache extends FileRange {
  /** The cells of each stream that has some. All other streams are a count of 0. */
  readonly streams: readonly FileRange[];
}

const magic = 0x67677371;
const version = 3;
const wordBytes = 4;
const cellBytes = 3 * wordBytes;
const maxStreams = 256;

/**
 * The number of streams (sequences of the context) in the file of a state that llama.cpp has saved of a KV cache; undefined
 * when the file is of another version.
 */
export async function readStreamCount(file: FileHandle): Promise<number | undefined> {
  const start = await readStart(file);
  return start && (await readWords(file, start, 1))[0];
}

/**
 * Finds the KV caches in the file of a state. A sliding window has one of its own, after that of the other layers.
 * @param isHybrid the first cache is followed by a recurrent state, which has no streams.
 * @returns undefined when the file is not as expected.
 */
export async function readSavedCaches(file: FileHandle, isHybrid: boolean): Promise<readonly SavedCache[] | undefined> {
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
