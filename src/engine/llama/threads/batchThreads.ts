import type { BatchLoad } from '../batching/batchScheduler.ts';
import type { TimedBatch } from '../batching/batchTimer.ts';
import type { PrefillTuner } from './prefillTuner.ts';
import type { ThreadTuner } from './threadTuner.ts';

/** The tuners of a context. */
export interface ThreadTuners {
  readonly decode: ThreadTuner;
  /** Undefined where the GPU computes: prefill has the number of threads of decoding. */
  readonly prefill: PrefillTuner | undefined;
}

/**
 * Chooses the number of threads of each batch. Prefill is bound by arithmetic and takes all cores that are free; decoding is
 * bound by memory and barriers. So each has a count of its own, and each is tuned by its own batches.
 */
export class BatchThreads {
  #fixed: number;
  #tuners: ThreadTuners | undefined;

  /** @param fixed the number for all batches, until it is tuned. */
  constructor(fixed: number) {
    this.#fixed = fixed;
  }

  /** The number of threads of batches that decode. */
  get decode(): number {
    return this.#tuners?.decode.count ?? this.#fixed;
  }

  /** The number of threads of batches with many prompt tokens. */
  get prefill(): number {
    return this.#tuners?.prefill?.count ?? this.decode;
  }

  /** Fixes the number of threads for the next batches. */
  fix(count: number): void {
    this.#fixed = count;
  }

  /** From now on the tuners choose. */
  tune(tuners: ThreadTuners): void {
    this.#tuners = tuners;
  }

  /** The number of threads that serves a batch best. */
  threadsFor({ prefill }: BatchLoad): number {
    return prefill >= minArithmeticTokens ? this.prefill : this.decode;
  }

  /**
   * Records a batch for the tuner of its kind.
   * @param threads its number of threads; with another number than the tuner's own the batch says nothing about it.
   */
  onBatch(batch: TimedBatch, threads: number): void {
    const { load, ms, endedAt } = batch;
    if (threads !== this.threadsFor(load)) return;
    if (load.prefill === 0) this.#tuners?.decode.onDecodeBatch(load.decode, ms, endedAt);
    else if (load.prefill >= minArithmeticTokens) this.#tuners?.prefill?.onPrefillBatch(batch);
  }
}

/**
 * From here on a batch is bound by arithmetic: each weight that is read is used for so many tokens that all cores are busy
 * between two barriers. Below it the weights' way from memory takes most of the time, as when one token is decoded, and on
 * a small model the barriers. Decode tokens in the same batch do not matter: they are few.
 */
const minArithmeticTokens = 32;
