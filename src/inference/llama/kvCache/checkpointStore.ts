import type { LlamaContextSequence } from 'node-llama-cpp';

/** The library's checkpoints of a cache, by name. */
export interface CheckpointStore {
  /** In the order of their positions. */
  readonly entries: readonly (readonly [
    name: string | undefined,
    checkpoint: { readonly maxPos: number; readonly size: number },
  ])[];
  /** Takes one with this name, in place of an earlier one. */
  readonly take: (name: string) => Promise<void>;
  readonly remove: (name: string) => void;
}

/**
 * The checkpoints of a cache. The library declares only those without a name, of which it drops the oldest first: the one of
 * the head of all prompts.
 * @throws Error when this release of node-llama-cpp has other checkpoints.
 */
export function checkpointStore(cache: LlamaContextSequence): CheckpointStore {
  const store: unknown = Reflect.get(cache, '_checkpoints');
  const entries: unknown = isObject(store) && Reflect.get(store, '_checkpoints');
  const remove: unknown = isObject(store) && Reflect.get(store, '_pruneOldCheckpoints');
  const take: unknown = Reflect.get(cache, '_takeNamedCheckpoint');
  if (!Array.isArray(entries) || typeof remove !== 'function' || typeof take !== 'function')
    throw new Error('this release of node-llama-cpp is not supported: it has other checkpoints');
  return {
    entries,
    take: (name) => Reflect.apply(take, cache, [name, 1]) as Promise<void>,
    remove: (name) => void Reflect.apply(remove, store, [name, 1]),
  };
}

const isObject = (value: unknown): value is object => typeof value === 'object' && value !== null;
