import type { LlamaContext, LlamaContextSequence, Token } from 'node-llama-cpp';
import { checkpointBytesOf, openCache } from './checkpoints.ts';
import { cachedPrefixLength, reusableLength } from './prefixReuse.ts';
import type { ModelStats } from '../../contract/memory.ts';
import type { Fault } from '../../../protocol/fault.ts';
import { Listeners, onceAny, type Subscribe } from '../../../base/events.ts';
import { rankOf, SlotQueue, type SlotRequest } from '../../decoding/slotQueue.ts';

/** A slot, as in llama-server: one KV cache of the context, acquired by one owner at a time. */
export type Slot = Readonly<Pick<SlotState, 'cache' | 'evicted' | 'source' | 'rank'>> & Pick<SlotState, 'stableTokens'>;

/** What acquires slots: a sequence. Compared by identity. */
export type SlotOwner = object;

/**
 * Slot pool: shares the few KV caches of a context among many sequences. Slot selection, the first that applies:
 *
 * 1. the owner's own slot; while that one is busy, wait
 * 2. the free slot (one without an owner) whose conversation the prompt goes on with; else an empty or the least recently
 *    used one: see `chooseFreeSlot`
 * 3. the least recently used (LRU) idle slot: its owner is evicted
 * 4. none, since all are busy: wait in a queue, by priority: see `SlotQueue`
 */
export class SlotPool {
  /** Calls a listener when a request begins to wait for a slot, until the returned function is called. */
  readonly onWait: Subscribe;
  readonly #queue: SlotQueue<Slot>;
  readonly #releaseListeners = new Listeners();
  /** Calls a listener when a slot was released. */
  readonly onRelease = this.#releaseListeners.add;
  #context: LlamaContext;
  #slots: readonly SlotState[];
  #releases = 0;
  #isVacating = false;
  #fault: Fault | undefined;
  readonly #canCopy: boolean;

  /** @param canCopy whether the state of a slot can be copied to another one. */
  constructor(context: LlamaContext, canCopy = false, now = () => performance.now()) {
    this.#canCopy = canCopy;
    this.#context = context;
    this.#queue = new SlotQueue((request, rank) => this.#takeSlot(request, rank), now);
    this.onWait = this.#queue.onWait;
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

  get owned(): readonly { readonly owner: SlotOwner; readonly slot: Slot }[] {
    return this.#slots.flatMap((slot) => (slot.owner ? [{ owner: slot.owner, slot }] : []));
  }

  /** Acquires a slot, or waits for one; undefined: aborted, or its owner is gone. @throws Fault that of `fail`. */
  async acquire(request: SlotRequest, signal: AbortSignal): Promise<Slot | undefined> {
    if (this.#fault && !signal.aborted) throw this.#fault;
    return this.#queue.acquire(request, signal);
  }

  /** Acquires the slot that an owner still has, if it is idle and no one waits for a slot; undefined: not so. */
  acquireOwn(owner: SlotOwner): Slot | undefined {
    const own = this.#slotOf(owner);
    if (!own || own.busy || this.#isVacating || this.#queue.length > 0) return undefined;
    own.rank = rankOf('BACKGROUND');
    own.busy = true;
    return own;
  }

  /** Releases a slot. It keeps its owner's tokens until another owner is given the slot. */
  release(slot: Slot): void {
    const state = this.#stateOf(slot);
    state.busy = false;
    state.lastUse = ++this.#releases;
    this.#queue.serve();
    this.#releaseListeners.call();
  }

  /** Gives back the slot that another one was copied from. */
  releaseSource(slot: Slot): void {
    const state = this.#stateOf(slot);
    if (!state.source) return;
    state.source.busy = false;
    state.source = undefined;
    this.#queue.serve();
    this.#releaseListeners.call();
  }

  /** Takes all slots back: none is given from now on, until `fill`. Resolves when none is in use. */
  async vacate(): Promise<void> {
    this.#isVacating = true;
    this.#queue.wake();
    while (!this.isIdle) await onceAny(this.onRelease);
  }

  /** Replaces the slots by those of another context, which are empty, after `vacate`. */
  fill(context: LlamaContext): void {
    this.#context = context;
    this.#slots = emptySlots(context);
    this.#isVacating = false;
    this.#queue.serve();
  }

  /** Ends all requests, now and later: there is no context any more. */
  fail(fault: Fault): void {
    this.#fault = fault;
    this.#queue.fail(fault);
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
    this.#queue.cancel((queued) => queued.owner === owner);
    for (const slot of this.#slots) if (slot.owner === owner) slot.owner = undefined;
  }

  stats(): Pick<ModelStats, 'slots' | 'slotsBusy' | 'waiting' | 'checkpointBytes'> {
    const slotsBusy = this.#slots.filter(({ busy }) => busy).length;
    const checkpointBytes = this.#slots.reduce((sum, { cache }) => sum + checkpointBytesOf(cache), 0);
    return { slots: this.#slots.length, slotsBusy, waiting: this.#queue.length, checkpointBytes };
  }

  #takeSlot({ owner, prompt }: SlotRequest, rank: number): Slot | undefined {
    const chosen = this.#isVacating ? undefined : this.#selectSlot(owner, prompt);
    if (!chosen) return undefined;
    const { slot, source } = chosen;
    if (source) source.busy = true;
    slot.source = source;
    slot.promptTokens = prompt.length;
    slot.evicted = slot.owner === owner ? undefined : slot.owner;
    slot.owner = owner;
    slot.rank = rank;
    slot.busy = true;
    return slot;
  }

  #slotOf(owner: SlotOwner): SlotState | undefined {
    return this.#slots.find((slot) => slot.owner === owner);
  }

  #selectSlot(owner: SlotOwner, prompt: Token[]): ChosenSlot | undefined {
    const own = this.#slotOf(owner);
    if (own) return own.busy ? undefined : { slot: own };
    const idle = this.#slots.filter((slot) => !slot.busy);
    const free = idle.filter((slot) => slot.owner === undefined);
    if (free.length > 0) return chooseFreeSlot(free, prompt, this.#canCopy && !this.needsCheckpoints);
    // LRU eviction; undefined when no slot is idle.
    const slot = maxBy(idle, ({ lastUse }) => -lastUse);
    return slot && { slot };
  }

  #stateOf(slot: Slot): SlotState {
    const state = this.#slots.find((candidate) => candidate === slot);
    if (!state) throw new Error('the slot belongs to another context');
    return state;
  }
}

interface SlotState {
  cache: LlamaContextSequence;
  /** The previous owner, whose KV cache is evicted and may be swapped out; undefined: nothing is evicted. */
  evicted: SlotOwner | undefined;
  /** A slot that holds more of the prompt, to be copied from: it is not given to others until `releaseSource`. */
  source: SlotState | undefined;
  /** The number of tokens with which the owner's next prompt begins, where that is known to be fewer than all. */
  stableTokens: number | undefined;
  /** The rank of the request that it was given to: see `rankOf`. */
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

const emptySlots = (context: LlamaContext): readonly SlotState[] =>
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

interface ChosenSlot {
  readonly slot: SlotState;
  readonly source?: SlotState;
}

/**
 * Chooses a free slot for a prompt:
 *
 * | the slot with the longest common prefix (LCP)          | chosen                                                        |
 * | ------------------------------------------------------ | ------------------------------------------------------------- |
 * | its last prompt goes on: the same conversation         | this slot                                                     |
 * | another conversation may go on with what it holds      | an empty one, else the least recently used, with a copy of it |
 * | the same, where states cannot be copied                | an empty one, else the least recently used of those that      |
 * |                                                        | reuse about as much                                           |
 */
function chooseFreeSlot(free: readonly SlotState[], prompt: Token[], canCopy: boolean): ChosenSlot | undefined {
  const lengths = new Map(free.map((slot) => [slot, reusableLength(slot.cache, prompt)]));
  const lengthOf = (slot: SlotState): number => lengths.get(slot) ?? 0;
  const longest = maxBy(free, lengthOf);
  if (!longest) return undefined;
  if (continues(longest, prompt)) return { slot: longest };
  const similar = free.filter((slot) => 8 * (lengthOf(longest) - lengthOf(slot)) <= prompt.length);
  const empty = free.find(({ cache }) => cache.nextTokenIndex === 0);
  const slot = empty ?? maxBy(canCopy ? free : similar, ({ lastUse }) => -lastUse) ?? longest;
  return canCopy && slot !== longest ? { slot, source: longest } : { slot };
}

/** Whether a prompt goes on where a slot's last one ended, whatever its answer became, or the slot has all of it. */
function continues({ cache, promptTokens }: SlotState, prompt: Token[]): boolean {
  const cached = cachedPrefixLength(cache, prompt);
  return cached > 0 && cached >= Math.min(promptTokens, prompt.length) - maxOpeningTokens;
}

/** The end of a prompt may open an answer in another way than later prompts show it: `<think>\n\n</think>\n\n`. */
const maxOpeningTokens = 4;

function maxBy<T>(items: readonly T[], measure: (item: T) => number): T | undefined {
  const measures = items.map(measure);
  return items[measures.indexOf(Math.max(...measures))];
}
