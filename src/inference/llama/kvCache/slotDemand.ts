import type { MemoryUse } from '../../contract/memory.ts';

/** More sequences in a batch make each of them slow. */
const maxSlots = 16;

/** The number of slots that a context with so many gets next; the same number: no more. */
export const moreSlots = (slots: number): number => Math.max(slots, Math.min(2 * slots, maxSlots));

/** Waits that are further apart say little about how many agents speak at once. */
const windowMs = 60_000;
/** With so many waits for each slot within the window, more slots are used, and not for one moment only. */
const waitsPerSlot = 2;
/** Memory that was not there is looked for again after this time. */
const pauseMs = 60_000;

/** The demand for slots: whether so many requests have waited for one that more slots are worth their memory. */
export class SlotDemand {
  readonly #now: () => number;
  #waits: readonly number[] = [];
  #pausedUntil = -Infinity;

  constructor(now: () => number = () => performance.now()) {
    this.#now = now;
  }

  /** A request begins to wait. @returns whether more than these slots are in demand. */
  add(slots: number): boolean {
    const now = this.#now();
    const wanted = waitsPerSlot * slots;
    this.#waits = [...this.#waits.filter((at) => at > now - windowMs), now].slice(-wanted);
    return this.#waits.length === wanted && now >= this.#pausedUntil;
  }

  /** There is another number of slots now: what was before says nothing about it. */
  reset(): void {
    this.#waits = [];
  }

  /** There was too little memory for more slots. */
  pause(): void {
    this.#pausedUntil = this.#now() + pauseMs;
  }
}

/** Of the free memory, this part at least stays free, and this many bytes. */
const freeDivisor = 4;
const minFreeBytes = 2 ** 30;

/** Whether there is so much free memory that a model may take more of it only to be faster. */
export const isPlentiful = (more: MemoryUse, free: MemoryUse): boolean =>
  (['ram', 'vram'] as const).every(
    (part) => more[part] <= 0 || (more[part] * freeDivisor <= free[part] && free[part] - more[part] >= minFreeBytes),
  );
