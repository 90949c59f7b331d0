import type { LlamaContext, LlamaContextSequence } from 'node-llama-cpp';
import { isObject } from '../../../base/jsonTypes.ts';
import { type MemoryUse, type ModelMemory, noMemory, totalMemory } from '../../contract/memory.ts';
import { needsCheckpoints } from '../contextMemory.ts';

/**
 * Where a checkpoint is taken: before the answers that are scored, after the head of a prompt (system message, tools), after
 * the message, or after the last finished interaction. Of each kind a cache keeps the latest, and that of the message before
 * is then that of the interaction. When they take too much memory together, the last kind of this list goes first.
 */
export const checkpointKinds = ['answers', 'head', 'message', 'interaction'] as const;

export type CheckpointKind = (typeof checkpointKinds)[number];

/** Where later prompts will differ from one, in tokens from its start. */
export type CheckpointPlaces = Readonly<Partial<Record<CheckpointKind, number>>>;

export interface Checkpoint {
  /** Undefined: the library has taken it. */
  readonly kind: CheckpointKind | undefined;
  /** The number of tokens before it: a prompt that begins with them can resume there. */
  readonly tokens: number;
  readonly bytes: number;
}

// Of all slots of a model, each of which has its share of it.
const maxCheckpointBytes = 512 * 2 ** 20;
const limits = new WeakMap<LlamaContext, number>();

/** Limits the memory of all checkpoints of a context. @returns the limit, which is never above the usual one. */
export function limitCheckpoints(context: LlamaContext, bytes: number): number {
  const limit = Math.min(bytes, maxCheckpointBytes);
  limits.set(context, limit);
  return limit;
}

/** Limits the checkpoints of a model to what its load has left of a limit. @returns its memory with checkpoints. */
export function withCheckpoints(context: LlamaContext, memory: ModelMemory, within: MemoryUse): ModelMemory {
  if (!needsCheckpoints(context.model) || !Number.isFinite(within.ram)) return memory;
  const bytes = limitCheckpoints(context, Math.max(0, within.ram - totalMemory(memory).ram));
  return { ...memory, checkpoints: { ...noMemory, ram: bytes } };
}

const shareOf = ({ context }: LlamaContextSequence): number =>
  (limits.get(context) ?? maxCheckpointBytes) / context.totalSequences;

/** Opens a sequence of a context, in which only `takeCheckpoint` takes checkpoints. */
export const openCache = (context: LlamaContext): LlamaContextSequence =>
  context.getSequence({ checkpoints: { interval: false } });

/** The checkpoints of a cache, in the order of their tokens. */
export const checkpointsOf = (cache: LlamaContextSequence): readonly Checkpoint[] =>
  checkpointStore(cache).entries.map(([name, { maxPos, size }]) => ({
    kind: checkpointKinds.find((kind) => kind === name),
    tokens: maxPos + 1,
    bytes: size,
  }));

/**
 * Takes a checkpoint of a cache, if it needs one and memory allows it.
 * @param places of the prompt: the checkpoint of the message before is kept for the interaction.
 * @param maxBytes of all of this cache.
 */
export async function takeCheckpoint(
  cache: LlamaContextSequence,
  kind: CheckpointKind,
  places: CheckpointPlaces = {},
  maxBytes = shareOf(cache),
): Promise<void> {
  if (!cache.needsCheckpoints || cache.nextTokenIndex === 0) return;
  const checkpoints = checkpointsOf(cache);
  const rank = checkpointKinds.indexOf(kind);
  const kept = checkpoints.filter((other) => other.kind && checkpointKinds.indexOf(other.kind) < rank);
  // A state is about as large as the one before it. Without the one before them, answers are far slower to score.
  const fits = totalBytes(kept) + (checkpoints.at(-1)?.bytes ?? 0) <= maxBytes;
  if (!fits && kind !== 'answers') return;
  const store = checkpointStore(cache);
  if (kind === 'message') store.keepForInteraction(places.interaction ?? 0);
  await store.take(kind);
  for (const other of checkpointKinds.toReversed())
    if (other !== 'answers' && totalBytes(checkpointsOf(cache)) > maxBytes) store.remove(other);
}

/** Removes a checkpoint, if the cache has one of this kind. */
export function dropCheckpoint(cache: LlamaContextSequence, kind: CheckpointKind): void {
  if (cache.needsCheckpoints) checkpointStore(cache).remove(kind);
}

export const checkpointBytesOf = (cache: LlamaContextSequence): number =>
  cache.needsCheckpoints ? totalBytes(checkpointsOf(cache)) : 0;

const totalBytes = (checkpoints: readonly Checkpoint[]): number =>
  checkpoints.reduce((sum, { bytes }) => sum + bytes, 0);

type NamedCheckpoint = readonly [
  name: string | undefined,
  checkpoint: { readonly maxPos: number; readonly size: number },
];

/**
 * The checkpoints of a cache. The library declares only those without a name, of which it drops the oldest first: the one of
 * the head of all prompts.
 * @throws Error when this release of node-llama-cpp has other checkpoints.
 */
function checkpointStore(cache: LlamaContextSequence) {
  const store: unknown = Reflect.get(cache, '_checkpoints');
  const entries: unknown = isObject(store) && Reflect.get(store, '_checkpoints');
  const prune: unknown = isObject(store) && Reflect.get(store, '_pruneOldCheckpoints');
  const count: unknown = isObject(store) && Reflect.get(store, '_resizeCheckpointsCount');
  const take: unknown = Reflect.get(cache, '_takeNamedCheckpoint');
  if (
    !Array.isArray(entries) ||
    typeof prune !== 'function' ||
    typeof count !== 'function' ||
    typeof take !== 'function'
  )
    throw new Error('this release of node-llama-cpp is not supported: it has other checkpoints');
  const remove = (name: string): void => void Reflect.apply(prune, store, [name, 1]);
  return {
    /** In the order of their positions. */
    entries: entries as readonly NamedCheckpoint[],
    /** Takes one with this name, in place of an earlier one. */
    take: (name: string) => Reflect.apply(take, cache, [name, 1]) as Promise<void>,
    remove,
    /** Keeps that of the message before an interaction has ended for it, unless there is a later one. */
    keepForInteraction(end: number): void {
      const named = entries as [string | undefined, NamedCheckpoint[1]][];
      const message = named.find(([name]) => name === 'message');
      const last = named.find(([name]) => name === 'interaction')?.[1].maxPos ?? -1;
      if (!message || message[1].maxPos >= end || message[1].maxPos <= last) return;
      remove('interaction');
      message[0] = 'interaction' satisfies CheckpointKind;
      Reflect.apply(count, store, ['message', -1]);
      Reflect.apply(count, store, ['interaction', 1]);
    },
  };
}
