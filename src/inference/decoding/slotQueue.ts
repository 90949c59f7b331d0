import type { Token } from 'node-llama-cpp';
import { Listeners, onAbort } from '../../base/events.ts';
import type { Priority } from '../contract/pace.ts';

/** Which priority goes first: the larger one. */
export const rankOf = (priority: Priority): number => ranks[priority];

const ranks = { BACKGROUND: 0, NORMAL: 1, URGENT: 2 } as const satisfies Readonly<Record<Priority, number>>;

/** A wait as long as this raises a request by one rank, so that none waits for ever. */
const agingMs = 30_000;

export interface SlotRequest {
  readonly owner: object;
  /** The tokens to evaluate in the slot. */
  readonly prompt: Token[];
  readonly priority: Priority;
  /** How many it has in all, also generated ones. Default: those of the prompt. */
  readonly tokens?: number;
  /** Evaluates a prompt ahead of time. */
  readonly isWarmUp?: boolean;
  /** Milliseconds that it has waited already, before it had to give a slot back. Default 0. */
  readonly waitedMs?: number;
}

interface Waiting<Slot> {
  readonly request: SlotRequest;
  readonly since: number;
  readonly resolve: (slot: Slot | undefined) => void;
  readonly reject: (error: unknown) => void;
}

/** The queue for slots: the highest rank first, first in, first out within a rank. */
export class SlotQueue<Slot> {
  readonly #take: (request: SlotRequest, rank: number) => Slot | undefined;
  readonly #now: () => number;
  readonly #listeners = new Listeners();
  /** Calls a listener when a request begins to wait. */
  readonly onWait = this.#listeners.add;
  #waiting: readonly Waiting<Slot>[] = [];

  /** @param take takes a slot for a request; undefined: there is none for it yet. */
  constructor(take: (request: SlotRequest, rank: number) => Slot | undefined, now = () => performance.now()) {
    this.#take = take;
    this.#now = now;
  }

  get length(): number {
    return this.#waiting.length;
  }

  /** Waits for a slot; undefined when the signal is aborted, or the request cancelled, first. @throws the error of `fail` */
  acquire(request: SlotRequest, signal: AbortSignal): Promise<Slot | undefined> {
    if (signal.aborted) return Promise.resolve(undefined);
    const unsubscribe = onAbort(signal)(() => this.cancel((one) => one === request));
    const acquired = new Promise<Slot | undefined>((resolve, reject) => {
      const since = this.#now() - (request.waitedMs ?? 0);
      const waiting = { request, since, resolve, reject };
      this.#waiting = [...this.#waiting, waiting];
      this.serve();
      if (this.#waiting.includes(waiting)) this.#listeners.call();
    });
    return acquired.finally(unsubscribe);
  }

  /** Tries to serve each request in order. One that cannot be served yet does not block those after it. */
  serve(): void {
    const ranked = this.#waiting.map((waiting) => ({ waiting, rank: this.#rank(waiting) }));
    // Sorting is stable: within a rank the order of arrival remains.
    for (const { waiting, rank } of ranked.toSorted((a, b) => b.rank - a.rank)) {
      const slot = this.#take(waiting.request, rank);
      if (slot === undefined) continue;
      this.#waiting = this.#waiting.filter((one) => one !== waiting);
      waiting.resolve(slot);
    }
  }

  /** Wakes what waits until a request begins to wait. */
  wake(): void {
    this.#listeners.call();
  }

  /** Ends the wait of requests: they get no slot. */
  cancel(matches: (request: SlotRequest) => boolean): void {
    const ended = this.#waiting.filter(({ request }) => matches(request));
    this.#waiting = this.#waiting.filter((waiting) => !ended.includes(waiting));
    for (const { resolve } of ended) resolve(undefined);
  }

  /** Ends the wait of all requests with an error. */
  fail(error: unknown): void {
    const ended = this.#waiting;
    this.#waiting = [];
    for (const { reject } of ended) reject(error);
  }

  /** Whether a request waits that matches, and whose priority is above a rank. */
  hasAbove(rank: number, matches: (request: SlotRequest) => boolean): boolean {
    return this.#waiting.some(({ request }) => rankOf(request.priority) > rank && matches(request));
  }

  #rank({ request, since }: Waiting<Slot>): number {
    return Math.min(ranks.URGENT, rankOf(request.priority) + Math.floor((this.#now() - since) / agingMs));
  }
}
