import type { LlamaContext, LlamaContextSequence, Token } from 'node-llama-cpp';
import type { ModelStats } from '../../engine.ts';
import type { Fault } from '../../../fault.ts';
import { Listeners, whenAny, type Occasion } from '../../whenAny.ts';
import { checkpointBytesOf, openCache } from './checkpoints.ts';
import { reusableLength } from './prefixReuse.ts';
import { SlotQueue, rankOf, type SlotRequest } from './slotQueue.ts';

/** A slot, as in llama-server: one KV cache of the context, acquired by one owner at a time. */
export interface Slot {
  readonly cache: LlamaContextSequence;
  /** The previous owner, whose KV cache is evicted and may be swapped out; undefined: nothing is evicted. */
  readonly evicted: SlotOwner | undefined;
  /** The number of tokens with which the owner's next prompt begins, where that is known to be fewer than all. */
  stableTokens: number | undefined;
  /** The rank of the request that it was given to: see `rankOf`. */
  readonly rank: number;
}

/** What acquires slots: a sequence. Compared by identity. */
export type SlotOwner = object;

interface SlotState extends Slot {
  cache: LlamaContextSequence;
  evicted: SlotOwner | undefined;
  rank: number;
  /** Whose tokens the cache holds; undefined: the slot is free. */
  owner: SlotOwner | undefined;
  /** Acquired and not yet released. */
  busy: boolean;
  /** Sequence number of the slot's last release: the smallest is the least recently used. */
  lastUse: number;
}

interface PendingSlot extends SlotRequest {
  readonly resolve: (slot: Slot | undefined) => void;
  readonly reject: (fault: Fault) => void;
}

/**
 * Slot pool: shares the few KV caches of a context among many sequences. Slot selection, the first that applies:
 *
 * 1. the owner's own slot; while that one is busy, wait
 * 2. the free slot (one without an owner) that can reuse the longest common prefix (LCP) with the prompt; where that is
 *    short, an empty or the least recently used one: see `selectFree`
 * 3. the least recently used (LRU) idle slot: its owner is evicted
 * 4. none, since all are busy: wait in a queue, by priority: see `SlotQueue`
 */
export class SlotPool {
  readonly #queue: SlotQueue<PendingSlot>;
  readonly #releaseListeners = new Listeners();
  /** Calls a listener when a slot was released. */
  readonly onRelease = this.#releaseListeners.add;
  #context: LlamaContext;
  #slots: readonly SlotState[];
  #releases = 0;
  #isVacating = false;
  #fault: Fault | undefined;

  constructor(context: LlamaContext, now: () => number = () => performance.now()) {
    this.#context = context;
    this.#queue = new SlotQueue(now);
    this.#slots = emptySlots(context);
  }

  /** Whether the caches cannot be cut back without checkpoints. */
  get needsCheckpoints(): boolean {
    return this.#slots.some(({ cache }) => cache.needsCheckpoints);
  }

  /** Whether every slot is to be given back as soon as possible: see `vacate`. */
  get isVacating(): boolean {
    return this.#isVacating;
  }

  /** Whether no slot is in use. */
  get isIdle(): boolean {
    return !this.#slots.some(({ busy }) => busy);
  }

  /** The slots with the tokens of an owner. */
  get owned(): readonly { readonly owner: SlotOwner; readonly slot: Slot }[] {
    return this.#slots.flatMap((slot) => (slot.owner ? [{ owner: slot.owner, slot }] : []));
  }

  /**
   * Acquires a slot for a prompt, or waits in the queue for one. The caller releases it.
   * @returns undefined when the signal is aborted or the owner is forgotten first.
   * @throws Fault that of `fail`.
   */
  acquire(request: SlotRequest, signal: AbortSignal): Promise<Slot | undefined> {
    return new Promise((resolve, reject) => {
      if (signal.aborted) return resolve(undefined);
      if (this.#fault) throw this.#fault;
      const pending: PendingSlot = {
        ...request,
        resolve(slot) {
          signal.removeEventListener('abort', cancel);
          resolve(slot);
        },
        reject(fault) {
          signal.removeEventListener('abort', cancel);
          reject(fault);
        },
      };
      const cancel = (): void => this.#cancelRequests((queued) => queued === pending);
      signal.addEventListener('abort', cancel);
      this.#queue.add(pending, this.#assignSlot);
    });
  }

  /** Releases a slot. It keeps its owner's tokens until another owner is given the slot. */
  release(slot: Slot): void {
    const state = this.#stateOf(slot);
    state.busy = false;
    state.lastUse = ++this.#releases;
    this.#queue.serve(this.#assignSlot);
    this.#releaseListeners.call();
  }

  /** Takes all slots back: none is given from now on, until `fill`. Resolves when none is in use. */
  async vacate(): Promise<void> {
    this.#isVacating = true;
    this.#queue.wake();
    while (!this.isIdle) await whenAny(this.onRelease);
  }

  /** Replaces the slots by those of another context, which are empty, after `vacate`. */
  fill(context: LlamaContext): void {
    this.#context = context;
    this.#slots = emptySlots(context);
    this.#isVacating = false;
    this.#queue.serve(this.#assignSlot);
  }

  /** Ends all requests, now and later: there is no context any more. */
  fail(fault: Fault): void {
    this.#fault = fault;
    for (const { reject } of this.#queue.remove(() => true)) reject(fault);
  }

  /** Calls a listener when a request begins to wait for a slot, until the returned function is called. */
  get onWait(): Occasion {
    return this.#queue.onWait;
  }

  /** Whether a sequence without a slot waits for one, whose priority is above a rank. */
  isWanted(rank: number): boolean {
    return this.#queue.hasAbove(rank, ({ owner }) => !this.#slotOf(owner));
  }

  /** Whether an inference waits that one more slot would serve. Those in the background and warm-ups do not count. */
  get hasDemand(): boolean {
    return this.#queue.hasAbove(rankOf('BACKGROUND'), ({ owner, isWarmUp }) => !isWarmUp && !this.#slotOf(owner));
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

  /** Gives a request a slot, if there is one for it. */
  readonly #assignSlot = ({ owner, prompt, resolve }: PendingSlot, rank: number): boolean => {
    const slot = this.#isVacating ? undefined : this.#selectSlot(owner, prompt);
    if (!slot) return false;
    slot.evicted = slot.owner === owner ? undefined : slot.owner;
    slot.owner = owner;
    slot.rank = rank;
    slot.busy = true;
    resolve(slot);
    return true;
  };

  #slotOf(owner: SlotOwner): SlotState | undefined {
    return this.#slots.find((slot) => slot.owner === owner);
  }

  #selectSlot(owner: SlotOwner, prompt: Token[]): SlotState | undefined {
    const own = this.#slotOf(owner);
    if (own) return own.busy ? undefined : own;
    const idle = this.#slots.filter((slot) => !slot.busy);
    const free = idle.filter((slot) => slot.owner === undefined);
    if (free.length > 0) return selectFree(free, prompt);
    // LRU eviction; undefined when no slot is idle.
    return maxBy(idle, ({ lastUse }) => -lastUse);
  }

  #cancelRequests(matches: (request: SlotRequest) => boolean): void {
    for (const { resolve } of this.#queue.remove(matches)) resolve(undefined);
  }

  #stateOf(slot: Slot): SlotState {
    const state = this.#slots.find((candidate) => candidate === slot);
    if (!state) throw new Error('the slot belongs to another context');
    return state;
  }
}

const emptySlots = (context: LlamaContext): readonly SlotState[] =>
  Array.from({ length: context.totalSequences }, () => ({
    cache: openCache(context),
    owner: undefined,
    evicted: undefined,
    stableTokens: undefined,
    rank: 0,
    busy: false,
    lastUse: 0,
  }));

/**
 * The slot with the longest common prefix. Where that is less than half of the prompt, another conversation may go on with
 * the tokens that it would overwrite: then it is an empty slot, or the least recently used one of those that reuse about as
 * much.
 */
function selectFree(free: readonly SlotState[], prompt: Token[]): SlotState | undefined {
  const lengths = new Map(free.map((slot) => [slot, reusableLength(slot.cache, prompt)]));
  const lengthOf = (slot: SlotState): number => lengths.get(slot) ?? 0;
  const longest = maxBy(free, lengthOf);
  if (!longest || 2 * lengthOf(longest) >= prompt.length) return longest;
  const empty = free.find(({ cache }) => cache.nextTokenIndex === 0);
  const similar = free.filter((slot) => 8 * (lengthOf(longest) - lengthOf(slot)) <= prompt.length);
  return empty ?? maxBy(similar, ({ lastUse }) => -lastUse);
}

/** The first item with the largest measure. */
function maxBy<T>(items: readonly T[], measure: (item: T) => number): T | undefined {
  const measures = items.map(measure);
  return items[measures.indexOf(Math.max(...measures))];
}
