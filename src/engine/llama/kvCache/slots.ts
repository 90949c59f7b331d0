import type { LlamaContext, LlamaContextSequence, Token } from 'node-llama-cpp';
import type { ModelStats } from '../../engine.ts';
import { checkpointBytesOf, openCache } from './checkpoints.ts';
import { reusableLength } from './prefixReuse.ts';

/** A slot, as in llama-server: one KV cache of the context, acquired by one owner at a time. */
export interface Slot {
  readonly cache: LlamaContextSequence;
  /** The previous owner, whose KV cache is evicted and may be swapped out; undefined: nothing is evicted. */
  readonly evicted: SlotOwner | undefined;
  /** The number of tokens with which the owner's next prompt begins, where that is known to be fewer than all. */
  stableTokens: number | undefined;
}

/** What acquires slots: a sequence. Compared by identity. */
export type SlotOwner = object;

interface SlotState extends Slot {
  cache: LlamaContextSequence;
  evicted: SlotOwner | undefined;
  /** Whose tokens the cache holds; undefined: the slot is free. */
  owner: SlotOwner | undefined;
  /** Acquired and not yet released. */
  busy: boolean;
  /** Sequence number of the slot's last release: the smallest is the least recently used. */
  lastUse: number;
}

interface SlotRequest {
  readonly owner: SlotOwner;
  /** The tokens to evaluate in the slot. */
  readonly prompt: Token[];
  readonly resolve: (slot: Slot | undefined) => void;
}

/**
 * Slot pool: shares the few KV caches of a context among many sequences. Slot selection, the first that applies:
 *
 * 1. the owner's own slot; while that one is busy, wait
 * 2. the free slot (one without an owner) that can reuse the longest common prefix (LCP) with the prompt
 * 3. the least recently used (LRU) idle slot: its owner is evicted
 * 4. none, since all are busy: wait in a queue, first in, first out
 */
export class SlotPool {
  readonly #context: LlamaContext;
  readonly #slots: readonly SlotState[];
  #queue: SlotRequest[] = [];
  #releases = 0;

  /** Whether the caches cannot be cut back without checkpoints. */
  get needsCheckpoints(): boolean {
    return this.#slots.some(({ cache }) => cache.needsCheckpoints);
  }

  constructor(context: LlamaContext) {
    this.#context = context;
    this.#slots = Array.from({ length: context.totalSequences }, () => ({
      cache: openCache(context),
      owner: undefined,
      evicted: undefined,
      stableTokens: undefined,
      busy: false,
      lastUse: 0,
    }));
  }

  /**
   * Acquires a slot for a prompt, or waits in the queue for one. The caller releases it.
   * @returns undefined when the signal is aborted or the owner is forgotten first.
   */
  acquire(owner: SlotOwner, prompt: Token[], signal: AbortSignal): Promise<Slot | undefined> {
    return new Promise((resolve) => {
      if (signal.aborted) return resolve(undefined);
      const request: SlotRequest = {
        owner,
        prompt,
        resolve(slot) {
          signal.removeEventListener('abort', cancel);
          resolve(slot);
        },
      };
      const cancel = (): void => this.#cancelRequests((queued) => queued === request);
      signal.addEventListener('abort', cancel);
      this.#queue.push(request);
      this.#assignSlots();
    });
  }

  /** Releases a slot. It keeps its owner's tokens until another owner is given the slot. */
  release(slot: Slot): void {
    const state = this.#stateOf(slot);
    state.busy = false;
    state.lastUse = ++this.#releases;
    this.#assignSlots();
  }

  /** Empties an acquired slot, whose contents are unknown after a failed evaluation. */
  async reset(slot: Slot): Promise<void> {
    const state = this.#stateOf(slot);
    state.evicted = undefined;
    state.stableTokens = undefined;
    await state.cache.dispose();
    state.cache = openCache(this.#context);
  }

  /** Forgets an owner that is disposed: its slot becomes free, its queued requests resolve to undefined. */
  forgetOwner(owner: SlotOwner): void {
    this.#cancelRequests((queued) => queued.owner === owner);
    for (const slot of this.#slots) if (slot.owner === owner) slot.owner = undefined;
  }

  stats(): Pick<ModelStats, 'slots' | 'slotsBusy' | 'waiting' | 'checkpointBytes'> {
    const slotsBusy = this.#slots.filter(({ busy }) => busy).length;
    const checkpointBytes = this.#slots.reduce((sum, { cache }) => sum + checkpointBytesOf(cache), 0);
    return { slots: this.#slots.length, slotsBusy, waiting: this.#queue.length, checkpointBytes };
  }

  /** Serves the queue from its head. A request that waits for its own busy slot does not block those after it. */
  #assignSlots(): void {
    this.#queue = this.#queue.filter(({ owner, prompt, resolve }) => {
      const slot = this.#selectSlot(owner, prompt);
      if (!slot) return true;
      slot.evicted = slot.owner === owner ? undefined : slot.owner;
      slot.owner = owner;
      slot.busy = true;
      resolve(slot);
      return false;
    });
  }

  #selectSlot(owner: SlotOwner, prompt: Token[]): SlotState | undefined {
    const own = this.#slots.find((slot) => slot.owner === owner);
    if (own) return own.busy ? undefined : own;
    const idle = this.#slots.filter((slot) => !slot.busy);
    const free = idle.filter((slot) => slot.owner === undefined);
    if (free.length > 0) return maxBy(free, ({ cache }) => reusableLength(cache, prompt));
    // LRU eviction; undefined when no slot is idle.
    return maxBy(idle, ({ lastUse }) => -lastUse);
  }

  #cancelRequests(matches: (request: SlotRequest) => boolean): void {
    const cancelled = this.#queue.filter(matches);
    this.#queue = this.#queue.filter((request) => !matches(request));
    for (const { resolve } of cancelled) resolve(undefined);
  }

  #stateOf(slot: Slot): SlotState {
    const state = this.#slots.find((candidate) => candidate === slot);
    if (!state) throw new Error('the slot belongs to another context');
    return state;
  }
}

/** The first item with the largest measure. */
function maxBy<T>(items: readonly T[], measure: (item: T) => number): T | undefined {
  const measures = items.map(measure);
  return items[measures.indexOf(Math.max(...measures))];
}
