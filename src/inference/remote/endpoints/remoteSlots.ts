import type { Token } from '../../decoding/tokenizer.ts';
import { commonPrefixLength } from '../../../base/commonPrefix.ts';
import { SlotQueue, type SlotRequest } from '../../decoding/slotQueue.ts';

/** A slot of an endpoint: one KV cache there, or a part of one. */
export interface RemoteSlot {
  /** -1: the server chooses one. */
  readonly id: number;
  /** Tokens that it may be used for; Infinity: as many as the context has. */
  cells: number;
  /** The sequence that used it last. */
  owner: object | undefined;
  /** The tokens that it is likely to hold. */
  tokens: readonly Token[];
  /** When it was used last: the larger, the later. */
  lastUse: number;
  isBusy: boolean;
}

/**
 * The slots of an endpoint. A sequence gets, in this order: the slot that it has had; the one without an owner that shares most
 * tokens with its prompt; the least recently used one that is idle. Where none is, it waits in a queue.
 *
 * They may share the cells of one KV cache (llama-server's `--kv-unified`). Where those are used up the server ends all
 * requests, so a request waits until those that it may need are left, and those behind it wait too. Such a server chooses the
 * slots itself: the prompts of idle ones are in its own cache, and only where no slot is named are they looked for there.
 */
export class RemoteSlots {
  #slots: readonly RemoteSlot[] = [];
  readonly #queue = new SlotQueue<RemoteSlot>((request) => this.#take(request));
  /** Calls a listener when a request begins to wait. */
  readonly onWait = this.#queue.onWait;
  readonly #cells: number;
  #uses = 0;
  /** Whether a request waits for cells: none behind it may take them. */
  #isShort = false;

  /** @param cells that all share; Infinity: each slot has its own. */
  constructor(count: number, cells = Infinity) {
    this.#cells = cells;
    this.restart(count);
  }

  /** The server has been started again: its slots are empty. Those that are busy are released as ever. */
  restart(count: number): void {
    const slots = this.#slots;
    const empty = { cells: Infinity, owner: undefined, tokens: [], lastUse: 0, isBusy: false };
    this.#slots = Array.from({ length: count }, (_, index) => {
      const before = slots[index];
      return before?.isBusy ? before : { id: this.#cells === Infinity ? index : -1, ...empty };
    });
    this.#serve();
  }

  get count(): number {
    return this.#slots.length;
  }

  get busy(): number {
    return this.#slots.filter(({ isBusy }) => isBusy).length;
  }

  get waiting(): number {
    return this.#queue.length;
  }

  /** Waits for a slot; undefined when the signal is aborted before there is one. */
  async acquire(request: SlotRequest, signal: AbortSignal): Promise<RemoteSlot | undefined> {
    this.#isShort = false;
    const slot = await this.#queue.acquire(request, signal);
    // Those behind it may fit.
    if (!slot) this.#serve();
    return slot;
  }

  release(slot: RemoteSlot): void {
    slot.isBusy = false;
    this.#serve();
  }

  #serve(): void {
    this.#isShort = false;
    this.#queue.serve();
  }

  /** A sequence is closed: others take its slot first. */
  forget(owner: object): void {
    for (const slot of this.#slots) if (slot.owner === owner) slot.owner = undefined;
  }

  #take({ owner, prompt, cells = 0 }: SlotRequest): RemoteSlot | undefined {
    const taken = this.#slots.reduce((sum, slot) => sum + (slot.isBusy ? slot.cells : 0), 0);
    if (taken > 0 && taken + cells > this.#cells) this.#isShort = true;
    if (this.#isShort) return undefined;
    const idle = this.#slots.filter(({ isBusy }) => !isBusy);
    const shared = (slot: RemoteSlot): number => commonPrefixLength(slot.tokens, prompt);
    const rank = (slot: RemoteSlot): number => (slot.owner === owner ? 2 : slot.owner === undefined ? 1 : 0);
    const [best] = idle.toSorted(
      (a, b) => rank(b) - rank(a) || (rank(a) === 1 ? shared(b) - shared(a) : 0) || a.lastUse - b.lastUse,
    );
    if (!best) return undefined;
    best.owner = owner;
    if (this.#cells < Infinity) best.cells = cells;
    best.isBusy = true;
    best.lastUse = ++this.#uses;
    return best;
  }
}
