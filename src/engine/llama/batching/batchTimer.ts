import type { BatchShape } from './batchScheduler.ts';

/** A number that follows what is measured; undefined until something was. */
export class Rate {
  #value: number | undefined;

  get value(): number | undefined {
    return this.#value;
  }

  measured(value: number): void {
    this.#value = this.#value === undefined ? value : this.#value + weight * (value - this.#value);
  }
}

// Of a new measurement against all before it.
const weight = 0.2;
// Smaller batches say little about how fast prompts are read.
const enough = 16;

/** How long a model's batches take, measured as they pass. */
export class Tempo {
  /** Milliseconds to evaluate one token of a prompt. */
  readonly reading = new Rate();
  readonly #onWriting: (width: number, ms: number, now: number) => void;
  #begun: { readonly shape: BatchShape; readonly at: number } | undefined;

  /** @param onWriting told of each batch that held only next tokens: of how many sequences, milliseconds, and when it ended. */
  constructor(onWriting: (width: number, ms: number, now: number) => void) {
    this.#onWriting = onWriting;
  }

  /** A batch begins. */
  begin(shape: BatchShape, now = performance.now()): void {
    this.#begun = { shape, at: now };
  }

  /** The batch under way has ended. */
  end(now = performance.now()): void {
    if (!this.#begun) return;
    const { shape, at } = this.#begun;
    this.#begun = undefined;
    if (shape.reading === 0) this.#onWriting(shape.writing, now - at, now);
    else if (shape.reading >= enough) this.reading.measured((now - at) / (shape.reading + shape.writing));
  }
}
