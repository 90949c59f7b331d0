import type { BatchLoad } from './batchScheduler.ts';

/** A number that follows what is measured; undefined until something was. */
export class MovingAverage {
  #value: number | undefined;

  get value(): number | undefined {
    return this.#value;
  }

  add(value: number): void {
    this.#value = this.#value === undefined ? value : this.#value + smoothingFactor * (value - this.#value);
  }
}

// Of a new measurement against all before it.
const smoothingFactor = 0.2;
// Smaller batches say little about how fast prompts are read.
const minPrefillTokens = 16;

/** How long a model's batches take, measured as they pass. */
export class BatchTimer {
  /** Milliseconds to evaluate one token of a prompt. */
  readonly prefillMsPerToken = new MovingAverage();
  readonly #onDecodeBatch: (width: number, ms: number, now: number) => void;
  #current: { readonly shape: BatchLoad; readonly at: number } | undefined;

  /** @param onWriting told of each batch that held only next tokens: of how many sequences, milliseconds, and when it ended. */
  constructor(onWriting: (width: number, ms: number, now: number) => void) {
    this.#onDecodeBatch = onWriting;
  }

  /** A batch begins. */
  begin(shape: BatchLoad, now = performance.now()): void {
    this.#current = { shape, at: now };
  }

  /** The batch under way has ended. */
  end(now = performance.now()): void {
    if (!this.#current) return;
    const { shape, at } = this.#current;
    this.#current = undefined;
    if (shape.prefill === 0) this.#onDecodeBatch(shape.decode, now - at, now);
    else if (shape.prefill >= minPrefillTokens) this.prefillMsPerToken.add((now - at) / (shape.prefill + shape.decode));
  }
}
