import type { LlamaContext, LlamaContextSequence, Token } from 'node-llama-cpp';
import { cachedPrefixLength } from './prefixReuse.ts';

/** A KV cache in memory, lent to one owner at a time. */
export interface Slot {
  readonly cache: LlamaContextSequence;
  /** Who loses with it what it holds. */
  readonly evicted: SlotOwner | undefined;
}

/** Whoever needs a KV cache: a sequence. */
export type SlotOwner = object;

interface SlotState extends Slot {
  cache: LlamaContextSequence;
  evicted: SlotOwner | undefined;
  owner: SlotOwner | undefined;
  busy: boolean;
  lastUse: number;
}

interface SlotRequest {
  readonly owner: SlotOwner;
  /** What it is going to read. */
  readonly prompt: Token[];
  readonly give: (slot: Slot | undefined) => void;
}

/**
 * The few KV caches of a context, shared by many owners. Who gets which is decided here and nowhere else: one's own; of
 * those without an owner the one that holds most of the prompt; the least recently used idle one; else one waits, first
 * come, first served.
 */
export class SlotPool {
  readonly #context: LlamaContext;
  readonly #slots: readonly SlotState[];
  #waiting: SlotRequest[] = [];
  #uses = 0;

  constructor(context: LlamaContext) {
    this.#context = context;
    this.#slots = Array.from({ length: context.totalSequences }, () => ({
      cache: context.getSequence(),
      owner: undefined,
      evicted: undefined,
      busy: false,
      lastUse: 0,
    }));
  }

  /** Lends a slot; undefined when the signal or the owner's leaving ended the wait. */
  acquire(owner: SlotOwner, prompt: Token[], signal: AbortSignal): Promise<Slot | undefined> {
    return new Promise((resolve) => {
      if (signal.aborted) return resolve(undefined);
      const give = (slot: Slot | undefined): void => {
        signal.removeEventListener('abort', giveUp);
        resolve(slot);
      };
      const giveUp = (): void => this.#rejectWaiting((waiter) => waiter.give === give);
      signal.addEventListener('abort', giveUp);
      this.#waiting.push({ owner, prompt, give });
      this.#assign();
    });
  }

  /** Takes a slot back. What it holds stays there for its owner until somebody else needs the slot. */
  release(slot: Slot): void {
    const state = this.#stateOf(slot);
    state.busy = false;
    state.lastUse = ++this.#uses;
    this.#assign();
  }

  /** Empties a slot after a failure in it left open what it holds. */
  async reset(slot: Slot): Promise<void> {
    const state = this.#stateOf(slot);
    state.evicted = undefined;
    await state.cache.dispose();
    state.cache = this.#context.getSequence();
  }

  /** Frees what an owner that goes has or waits for. */
  forgetOwner(owner: SlotOwner): void {
    this.#rejectWaiting((waiter) => waiter.owner === owner);
    for (const slot of this.#slots) if (slot.owner === owner) slot.owner = undefined;
  }

  stats(): { readonly slots: number; readonly slotsBusy: number; readonly waiting: number } {
    const slotsBusy = this.#slots.filter(({ busy }) => busy).length;
    return { slots: this.#slots.length, slotsBusy, waiting: this.#waiting.length };
  }

  #assign(): void {
    this.#waiting = this.#waiting.filter(({ owner, prompt, give }) => {
      const slot = this.#choose(owner, prompt);
      if (!slot) return true;
      slot.evicted = slot.owner === owner ? undefined : slot.owner;
      slot.owner = owner;
      slot.busy = true;
      give(slot);
      return false;
    });
  }

  #choose(owner: SlotOwner, prompt: Token[]): SlotState | undefined {
    const own = this.#slots.find((slot) => slot.owner === owner);
    if (own) return own.busy ? undefined : own;
    const idle = this.#slots.filter((slot) => !slot.busy);
    const free = idle.filter((slot) => slot.owner === undefined);
    if (free.length > 0) return maxBy(free, ({ cache }) => cachedPrefixLength(cache, prompt));
    return maxBy(idle, ({ lastUse }) => -lastUse);
  }

  #rejectWaiting(which: (waiter: SlotRequest) => boolean): void {
    const gone = this.#waiting.filter(which);
    this.#waiting = this.#waiting.filter((waiter) => !which(waiter));
    for (const { give } of gone) give(undefined);
  }

  #stateOf(slot: Slot): SlotState {
    const state = this.#slots.find((other) => other === slot);
    if (!state) throw new Error('a slot of another context');
    return state;
  }
}

/** The first item of which there is most. */
function maxBy<T>(items: readonly T[], measure: (item: T) => number): T | undefined {
  const measures = items.map(measure);
  return items[measures.indexOf(Math.max(...measures))];
}
