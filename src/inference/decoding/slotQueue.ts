import type { Token } from 'node-llama-cpp';
import { type Priority, Listeners } from '../contract/pace.ts';

/** Which priority goes first: the larger one. */
export const rankOf = (priority: Priority): number => ranks[priority];

const ranks = { BACKGROUND: 0, NORMAL: 1, URGENT: 2 } as const satisfies Readonly<Record<Priority, number>>;

/** A wait as long as this raises a request by one rank, so that none waits for ever. */
const agingMs = 30_000;

/** A request for a slot. */
export interface SlotRequest {
  readonly owner: object;
  /** The tokens to evaluate in the slot. */
  readonly prompt: Token[];
  readonly priority: Priority;
  /** Evaluates a prompt ahead of time. */
  readonly isWarmUp?: boolean;
}

interface Waiting<Request extends SlotRequest> {
  readonly request: Request;
  readonly since: number;
}

/** The queue for slots: the highest rank first, first in, first out within a rank. */
export class SlotQueue<Request extends SlotRequest> {
  readonly #now: () => number;
  readonly #listeners = new Listeners();
  /** Calls a listener when a request begins to wait. */
  readonly onWait = this.#listeners.add;
  #waiting: readonly Waiting<Request>[] = [];

  constructor(now: () => number) {
    this.#now = now;
  }

  get length(): number {
    return this.#waiting.length;
  }

  /** Adds a request, and serves it if that is possible now. */
  add(request: Request, serve: (request: Request, rank: number) => boolean): void {
    const waiting = { request, since: this.#now() };
    this.#waiting = [...this.#waiting, waiting];
    this.serve(serve);
    if (this.#waiting.includes(waiting)) this.#listeners.call();
  }

  /** Tries to serve each request in order. One that cannot be served yet does not block those after it. */
  serve(serve: (request: Request, rank: number) => boolean): void {
    const ranked = this.#waiting.map((waiting) => ({ waiting, rank: this.#rank(waiting) }));
    const served = new Set<Waiting<Request>>();
    // Sorting is stable: within a rank the order of arrival remains.
    for (const { waiting, rank } of ranked.toSorted((a, b) => b.rank - a.rank))
      if (serve(waiting.request, rank)) served.add(waiting);
    this.#waiting = this.#waiting.filter((waiting) => !served.has(waiting));
  }

  /** Wakes what waits until a request begins to wait. */
  wake(): void {
    this.#listeners.call();
  }

  /** Removes requests, and returns them. */
  remove(matches: (request: Request) => boolean): readonly Request[] {
    const removed = this.#waiting.filter(({ request }) => matches(request));
    this.#waiting = this.#waiting.filter((waiting) => !removed.includes(waiting));
    return removed.map(({ request }) => request);
  }

  /** Whether a request waits that matches, and whose priority is above a rank. */
  hasAbove(rank: number, matches: (request: Request) => boolean): boolean {
    return this.#waiting.some(({ request }) => rankOf(request.priority) > rank && matches(request));
  }

  #rank({ request, since }: Waiting<Request>): number {
    return Math.min(ranks.URGENT, rankOf(request.priority) + Math.floor((this.#now() - since) / agingMs));
  }
}
