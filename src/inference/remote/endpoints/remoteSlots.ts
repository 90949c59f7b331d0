import type { Token } from '../../decoding/tokenizer.ts';
import { commonPrefixLength } from '../../../base/commonPrefix.ts';
import { SlotQueue, type SlotRequest } from '../../decoding/slotQueue.ts';

/** A slot of an endpoint: one KV cache there, or a part of one. Its id is -1 where the server chooses one. */
export interface RemoteSlot {
  readonly id: number;
  /** Of the KV cache: those of its request, and `spareCells`. */
  cells: number;
  /** The sequence that used it last. */
  owner: object | undefined;
  /** The tokens that it is likely to hold. */
  tokens: readonly Token[];
  /** When it was used last: the larger, the later. */
  lastUse: number;
  isBusy: boolean;
}

/** Of a slot, for tokens that its request gets before it ends. */
const spareCells = 64;

/**
 * The slots of an endpoint. A sequence gets, in this order: the slot that it has had; the one without an owner that shares most
 * tokens with its prompt; the least recently used one that is idle. Where none is, it waits in a queue.
 *
 * They may share the cells of one KV cache (`--kv-unified`). Where those are used up llama-server ends all requests, so one
 * waits until its prompt has room, with those behind it, and the last one gives its slot back where all grow too large.
 * The server chooses the slot then: it looks for a prompt in its cache of idle ones only where none is named.
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
    const empty = { cells: 0, owner: undefined, tokens: [], lastUse: 0, isBusy: false };
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

  /** Whether a request that has so many tokens now has to give its slot back, and wait for it again. */
  mustGiveBack(slot: RemoteSlot, tokens: number): boolean {
    slot.cells = tokens + spareCells;
    const others = this.#slots.filter((other) => other.isBusy && other !== slot);
    return this.#taken > this.#cells && others.length > 0 && others.every(({ lastUse }) => lastUse < slot.lastUse);
  }

  get #taken(): number {
    return this.#slots.reduce((sum, { isBusy, cells }) => sum + (isBusy ? cells : 0), 0);
  }

  #serve(): void {
    this.#isShort = false;
    this.#queue.serve();
  }

  /** A sequence is closed: others take its slot first. */
  forget(owner: object): void {
    for (const slot of this.#slots) if (slot.owner === owner) slot.owner = undefined;
  }

  #take({ owner, prompt, tokens = prompt.length }: SlotRequest): RemoteSlot | undefined {
    const cells = tokens + spareCells;
    if (this.busy > 0 && this.#taken + cells > this.#cells) this.#isShort = true;
    if (this.#isShort) return undefined;
    const idle = this.#slots.filter(({ isBusy }) => !isBusy);
    const shared = (slot: RemoteSlot): number => commonPrefixLength(slot.tokens, prompt);
    const rank = (slot: RemoteSlot): number => (slot.owner === owner ? 2 : slot.owner === undefined ? 1 : 0);
    const [best] = idle.toSorted(
      (a, b) => rank(b) - rank(a) || (rank(a) === 1 ? shared(b) - shared(a) : 0) || a.lastUse - b.lastUse,
    );
    if (!best) return undefined;
    best.owner = owner;
    best.cells = cells;
    best.isBusy = true;
    best.lastUse = ++this.#uses;
    return best;
  }
}
