import type { Token } from '../../decoding/tokenizer.ts';
import { commonPrefixLength } from '../../../base/commonPrefix.ts';
import { SlotQueue, type SlotRequest } from '../../decoding/slotQueue.ts';

/** A slot of an endpoint: one KV cache there. */
export interface RemoteSlot {
  readonly id: number;
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
 */
export class RemoteSlots {
  #slots: readonly RemoteSlot[] = [];
  readonly #queue = new SlotQueue<RemoteSlot>((request) => this.#take(request));
  /** Calls a listener when a request begins to wait. */
  readonly onWait = this.#queue.onWait;
  #uses = 0;

  constructor(count: number) {
    this.restart(count);
  }

  /** The server has been started again: its slots are empty. Those that are busy are released as ever. */
  restart(count: number): void {
    const slots = this.#slots;
    const empty = { owner: undefined, tokens: [], lastUse: 0, isBusy: false };
    this.#slots = Array.from({ length: count }, (_, id) => {
      const before = slots[id];
      return before?.isBusy ? before : { id, ...empty };
    });
    this.#queue.serve();
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
  acquire(request: SlotRequest, signal: AbortSignal): Promise<RemoteSlot | undefined> {
    return this.#queue.acquire(request, signal);
  }

  release(slot: RemoteSlot): void {
    slot.isBusy = false;
    this.#queue.serve();
  }

  /** A sequence is closed: others take its slot first. */
  forget(owner: object): void {
    for (const slot of this.#slots) if (slot.owner === owner) slot.owner = undefined;
  }

  #take({ owner, prompt }: SlotRequest): RemoteSlot | undefined {
    const idle = this.#slots.filter(({ isBusy }) => !isBusy);
    const shared = (slot: RemoteSlot): number => commonPrefixLength(slot.tokens, prompt);
    const rank = (slot: RemoteSlot): number => (slot.owner === owner ? 2 : slot.owner === undefined ? 1 : 0);
    const [best] = idle.toSorted(
      (a, b) => rank(b) - rank(a) || (rank(a) === 1 ? shared(b) - shared(a) : 0) || a.lastUse - b.lastUse,
    );
    if (!best) return undefined;
    best.owner = owner;
    best.isBusy = true;
    best.lastUse = ++this.#uses;
    return best;
  }
}
