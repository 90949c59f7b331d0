import type { LlamaContext, LlamaContextSequence } from 'node-llama-cpp';
import { openCache } from './checkpoints.ts';

/** A slot, as in llama-server: one KV cache of the context, acquired by one owner at a time. */
export interface Slot {
  readonly cache: LlamaContextSequence;
  /** The previous owner, whose KV cache is evicted and may be swapped out; undefined: nothing is evicted. */
  readonly evicted: SlotOwner | undefined;
  /** A slot that holds more of the prompt, to be copied from: it is not given to others until `releaseSource`. */
  readonly source: Slot | undefined;
  /** The number of tokens with which the owner's next prompt begins, where that is known to be fewer than all. */
  stableTokens: number | undefined;
  /** The rank of the request that it was given to: see `rankOf`. */
  readonly rank: number;
}

/** What acquires slots: a sequence. Compared by identity. */
export type SlotOwner = object;

/** A slot as its pool sees it. */
export interface SlotState extends Slot {
  cache: LlamaContextSequence;
  evicted: SlotOwner | undefined;
  source: SlotState | undefined;
  rank: number;
  /** Whose tokens the cache holds; undefined: the slot is free. */
  owner: SlotOwner | undefined;
  /** Acquired and not yet released. */
  busy: boolean;
  /** Sequence number of the slot's last release: the smallest is the least recently used. */
  lastUse: number;
  /** The number of tokens of the prompt that it was acquired for. */
  promptTokens: number;
}

/** The slots of a new context. */
export const emptySlots = (context: LlamaContext): readonly SlotState[] =>
  Array.from({ length: context.totalSequences }, () => ({
    cache: openCache(context),
    owner: undefined,
    evicted: undefined,
    source: undefined,
    promptTokens: 0,
    stableTokens: undefined,
    rank: 0,
    busy: false,
    lastUse: 0,
  }));
