import type { BatchLoad } from './batchScheduler.ts';

/** Exponential moving average of measurements; undefined before the first one. */
export class MovingAverage {
  #value: number | undefined;

  get value(): number | undefined {
    return this.#value;
  }

  add(value: number): void {
    this.#value = this.#value === undefined ? value : this.#value + smoothingFactor * (value - this.#value);
  }
}

/** Weight of a new measurement. */
const smoothingFactor = 0.2;
/** Smaller batches say little about the prefill speed. */
const minPrefillTokens = 16;

/** Times a context's batches: prefill speed as a moving average, and each decode-only batch for the thread tuner. */
export class BatchTimer {
  /** Milliseconds to evaluate one token of a prompt. */
  readonly prefillMsPerToken = new MovingAverage();
  readonly #onDecodeBatch: (sequences: number, ms: number, now: number) => void;
  /** Batches that have ended. */
  #ended = 0;
  #current: { readonly load: BatchLoad; readonly startedAt: number } | undefined;

  /** @param onDecodeBatch called after each batch without prefill: number of sequences, milliseconds, and when it ended. */
  constructor(onDecodeBatch: (sequences: number, ms: number, now: number) => void) {
    this.#onDecodeBatch = onDecodeBatch;
  }

  /** Whether a batch is being computed. */
  get running(): boolean {
    return this.#current !== undefined;
  }

  /** How many batches have ended. */
  get ended(): number {
    return this.#ended;
  }

  /** A batch is about to be computed. */
  start(load: BatchLoad, now = performance.now()): void {
    this.#current = { load, startedAt: now };
  }

  /** The current batch is computed, or has failed. */
  end(now = performance.now()): void {
    if (!this.#current) return;
    const { load, startedAt } = this.#current;
    this.#current = undefined;
    this.#ended++;
    const ms = now - startedAt;
    if (load.prefill === 0) this.#onDecodeBatch(load.decode, ms, now);
    else if (load.prefill >= minPrefillTokens) this.prefillMsPerToken.add(ms / (load.prefill + load.decode));
  }
}
