import type { LlamaContext, LlamaContextSequence } from 'node-llama-cpp';

/** A KV cache in memory, lent to one owner at a time. */
export interface Seat {
  readonly cache: LlamaContextSequence;
}

/** Whoever needs a KV cache: a sequence. */
export type Owner = object;

interface Place extends Seat {
  cache: LlamaContextSequence;
  owner: Owner | undefined;
  busy: boolean;
  lastUse: number;
}

interface Waiter {
  readonly owner: Owner;
  readonly give: (seat: Seat | undefined) => void;
}

/**
 * The few KV caches of a context, shared by many owners. Who gets which is decided here and nowhere else: one's own; a
 * free one; the least recently used idle one; else one waits, first come, first served.
 */
export class Seats {
  readonly #context: LlamaContext;
  readonly #places: readonly Place[];
  #waiting: Waiter[] = [];
  #uses = 0;

  constructor(context: LlamaContext) {
    this.#context = context;
    this.#places = Array.from({ length: context.totalSequences }, () => ({
      cache: context.getSequence(),
      owner: undefined,
      busy: false,
      lastUse: 0,
    }));
  }

  /** Lends a seat; undefined when the signal or the owner's leaving ended the wait. */
  take(owner: Owner, signal: AbortSignal): Promise<Seat | undefined> {
    return new Promise((resolve) => {
      if (signal.aborted) return resolve(undefined);
      const give = (seat: Seat | undefined): void => {
        signal.removeEventListener('abort', giveUp);
        resolve(seat);
      };
      const giveUp = (): void => this.#dismiss((waiter) => waiter.give === give);
      signal.addEventListener('abort', giveUp);
      this.#waiting.push({ owner, give });
      this.#serve();
    });
  }

  /** Takes a seat back. What it holds stays there for its owner until somebody else needs the seat. */
  release(seat: Seat): void {
    const place = this.#placeOf(seat);
    place.busy = false;
    place.lastUse = ++this.#uses;
    this.#serve();
  }

  /** Empties a seat after a failure in it left open what it holds. */
  async renew(seat: Seat): Promise<void> {
    const place = this.#placeOf(seat);
    await place.cache.dispose();
    place.cache = this.#context.getSequence();
  }

  /** Frees what an owner that goes has or waits for. */
  leave(owner: Owner): void {
    this.#dismiss((waiter) => waiter.owner === owner);
    for (const place of this.#places) if (place.owner === owner) place.owner = undefined;
  }

  figures(): { readonly seats: number; readonly seatsBusy: number; readonly waiting: number } {
    const seatsBusy = this.#places.filter(({ busy }) => busy).length;
    return { seats: this.#places.length, seatsBusy, waiting: this.#waiting.length };
  }

  #serve(): void {
    this.#waiting = this.#waiting.filter(({ owner, give }) => {
      const place = this.#choose(owner);
      if (!place) return true;
      place.owner = owner;
      place.busy = true;
      give(place);
      return false;
    });
  }

  #choose(owner: Owner): Place | undefined {
    const own = this.#places.find((place) => place.owner === owner);
    if (own) return own.busy ? undefined : own;
    const idle = this.#places.filter((place) => !place.busy);
    return idle.find((place) => place.owner === undefined) ?? idle.sort((a, b) => a.lastUse - b.lastUse)[0];
  }

  #dismiss(which: (waiter: Waiter) => boolean): void {
    const gone = this.#waiting.filter(which);
    this.#waiting = this.#waiting.filter((waiter) => !which(waiter));
    for (const { give } of gone) give(undefined);
  }

  #placeOf(seat: Seat): Place {
    const place = this.#places.find((other) => other === seat);
    if (!place) throw new Error('a seat of another context');
    return place;
  }
}
