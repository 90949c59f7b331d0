import type { LlamaContext, LlamaContextSequence, Token } from 'node-llama-cpp';
import { held } from './prefixReuse.ts';

/** A KV cache in memory, lent to one owner at a time. */
export interface Seat {
  readonly cache: LlamaContextSequence;
  /** Who loses with it what it holds. */
  readonly displaced: Owner | undefined;
}

/** Whoever needs a KV cache: a sequence. */
export type Owner = object;

interface Place extends Seat {
  cache: LlamaContextSequence;
  displaced: Owner | undefined;
  owner: Owner | undefined;
  busy: boolean;
  lastUse: number;
}

interface Waiter {
  readonly owner: Owner;
  /** What it is going to read. */
  readonly prompt: Token[];
  readonly give: (seat: Seat | undefined) => void;
}

/**
 * The few KV caches of a context, shared by many owners. Who gets which is decided here and nowhere else: one's own; of
 * those without an owner the one that holds most of the prompt; the least recently used idle one; else one waits, first
 * come, first served.
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
      displaced: undefined,
      busy: false,
      lastUse: 0,
    }));
  }

  /** Lends a seat; undefined when the signal or the owner's leaving ended the wait. */
  take(owner: Owner, prompt: Token[], signal: AbortSignal): Promise<Seat | undefined> {
    return new Promise((resolve) => {
      if (signal.aborted) return resolve(undefined);
      const give = (seat: Seat | undefined): void => {
        signal.removeEventListener('abort', giveUp);
        resolve(seat);
      };
      const giveUp = (): void => this.#dismiss((waiter) => waiter.give === give);
      signal.addEventListener('abort', giveUp);
      this.#waiting.push({ owner, prompt, give });
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
    place.displaced = undefined;
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
    this.#waiting = this.#waiting.filter(({ owner, prompt, give }) => {
      const place = this.#choose(owner, prompt);
      if (!place) return true;
      place.displaced = place.owner === owner ? undefined : place.owner;
      place.owner = owner;
      place.busy = true;
      give(place);
      return false;
    });
  }

  #choose(owner: Owner, prompt: Token[]): Place | undefined {
    const own = this.#places.find((place) => place.owner === owner);
    if (own) return own.busy ? undefined : own;
    const idle = this.#places.filter((place) => !place.busy);
    const free = idle.filter((place) => place.owner === undefined);
    if (free.length > 0) return most(free, ({ cache }) => held(cache, prompt));
    return most(idle, ({ lastUse }) => -lastUse);
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

/** The first item of which there is most. */
function most<T>(items: readonly T[], measure: (item: T) => number): T | undefined {
  const measures = items.map(measure);
  return items[measures.indexOf(Math.max(...measures))];
}
