import type { BatchLoad } from './batchScheduler.ts';

/** Exponential moving average of measurements; undefined before the first one. */
export class MovingAverage {
  value: number | undefined;

  add(value: number): void {
    this.value = this.value === undefined ? value : this.value + smoothingFactor * (value - this.value);
  }
}

/** Weight of a new measurement. */
const smoothingFactor = 0.2;
/** Smaller batches say little about the prefill speed. */
const minPrefillTokens = 16;

export interface TimedBatch {
  readonly load: BatchLoad;
  readonly ms: number;
  /** CPU time of this process meanwhile, of all its threads. */
  readonly cpuMs: number;
  /** In milliseconds, as `performance.now()`. */
  readonly endedAt: number;
}

/** Times a context's batches: prefill speed as a moving average, and each batch for the thread tuners. */
export class BatchTimer {
  /** Milliseconds to evaluate one token of a prompt. */
  readonly prefillMsPerToken = new MovingAverage();
  /** Milliseconds of a batch that only decodes. */
  readonly decodeMs = new MovingAverage();
  readonly #onBatch: (batch: TimedBatch) => void;
  /** How many batches have ended. */
  ended = 0;
  #current: { readonly load: BatchLoad; readonly startedAt: number; readonly cpuMs: number } | undefined;

  /** @param onBatch called after each batch. */
  constructor(onBatch: (batch: TimedBatch) => void) {
    this.#onBatch = onBatch;
  }

  /** Whether a batch is being computed. */
  get running(): boolean {
    return this.#current !== undefined;
  }

  /** A batch is about to be computed. */
  start(load: BatchLoad, now = performance.now()): void {
    this.#current = { load, startedAt: now, cpuMs: processCpuMs() };
  }

  /** The current batch is computed, or has failed. */
  end(now = performance.now()): void {
    if (!this.#current) return;
    const { load, startedAt, cpuMs } = this.#current;
    this.#current = undefined;
    this.ended++;
    const ms = now - startedAt;
    if (load.prefill >= minPrefillTokens) this.prefillMsPerToken.add(ms / (load.prefill + load.decode));
    if (load.prefill === 0) this.decodeMs.add(ms);
    this.#onBatch({ load, ms, cpuMs: processCpuMs() - cpuMs, endedAt: now });
  }
}

function processCpuMs(): number {
  const { user, system } = process.cpuUsage();
  return (user + system) / 1000;
}
