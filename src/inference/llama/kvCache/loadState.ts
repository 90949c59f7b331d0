import { open, type FileHandle } from 'node:fs/promises';
import type { LlamaContextSequence } from 'node-llama-cpp';
import type { StateFile, StateFiles } from './stateFiles.ts';
import { readSavedCaches, readStreamCount, type FileRange, type SavedCache } from './stateLayout.ts';

/**
 * Loads a saved state into a cache. The file of a state names the number of sequences of its context, and llama.cpp loads it
 * into a context with as many only; for another one a copy of the file with that number is written. The state of a sequence
 * does not depend on it.
 * @param spare where the copy is written; undefined: nowhere.
 * @returns false when there is no room for the copy, or it cannot be made; the cache is as before then.
 * @throws when the state cannot be loaded; the contents of the cache are unknown then.
 */
export async function loadState(
  cache: LlamaContextSequence,
  path: string,
  spare: StateFiles | undefined,
): Promise<boolean> {
  const { isRecurrent, isHybrid } = cache.model.fileInsights;
  const { totalSequences } = cache.context;
  await using file = await openFile(path);
  const isAsSaved = isRecurrent || (await readStreamCount(file.handle)) === totalSequences;
  const copy = isAsSaved ? undefined : await copyWithStreams(file.handle, totalSequences, { isHybrid, spare });
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
  { isHybrid, spare }: { readonly isHybrid: boolean; readonly spare: StateFiles | undefined },
): Promise<StateFile | undefined> {
  const caches = await readSavedCaches(source, isHybrid);
  if (!caches || caches.some((cache) => cache.streams.length > streams)) return undefined;
  const { size } = await source.stat();
  const copy = await spare?.reserve(size + caches.length * (streams + 1) * wordBytes, () => undefined);
  if (!copy) return undefined;
  try {
    await using target = await openFile(copy.path, 'w');
    for (const part of partsWithStreams(caches, streams, size)) {
      if (Buffer.isBuffer(part)) await target.handle.write(part);
      else await copyRange(source, target.handle, part);
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
    await target.write(buffer, 0, bytesRead);
    position += bytesRead;
  }
}

function word(value: number): Buffer {
  const bytes = Buffer.alloc(wordBytes);
  bytes.writeUInt32LE(value);
  return bytes;
}

/** Opens a file that only its owner can read, and closes it when it is disposed of. */
async function openFile(path: string, flags = 'r'): Promise<AsyncDisposable & { readonly handle: FileHandle }> {
  const handle = await open(path, flags, 0o600);
  return { handle, [Symbol.asyncDispose]: () => handle.close() };
}

const wordBytes = 4;
const copyBytes = 2 ** 20;
