import { memoizedByKey } from '../../../base/memoized.ts';
import type { Pace } from '../../contract/pace.ts';
import type { BatchLoad } from '../batching/batchScheduler.ts';
import type { TimedBatch } from '../batching/batchTimer.ts';
import { FreeCores } from './freeCores.ts';
import type { PrefillTuner } from './prefillTuner.ts';
import { ThreadTuner, type ThreadTunerOptions } from './threadTuner.ts';

/**
 * The tuners of batches that decode, by width: the number of sequences, rounded up to a power of two. The more tokens a batch
 * has, the more arithmetic is there between two barriers, and the more threads it can use.
 * @param options of batches of one sequence, on which the timings were made.
 */
export function decodeTuners(options: ThreadTunerOptions): DecodeTuners {
  const tunerFor: DecodeTuners = memoizedByKey(widthOf, (sequences: number) => {
    if (widthOf(sequences) === 1) return new ThreadTuner(options);
    return new ThreadTuner({ ...options, timings: new Map(), initialThreads: tunerFor(1).more });
  });
  return tunerFor;
}

const widthOf = (sequences: number): number => 2 ** Math.ceil(Math.log2(Math.max(1, sequences)));

/** The tuner of batches of so many sequences. */
export type DecodeTuners = (sequences: number) => ThreadTuner;

export interface ThreadTuners {
  readonly decode: DecodeTuners;
  /** Undefined where the GPU computes: prefill has the number of threads of decoding. */
  readonly prefill: PrefillTuner | undefined;
}

/**
 * Chooses the number of threads of each batch. Prefill is bound by arithmetic and takes all cores that are free; decoding is
 * bound by memory and barriers. So each has a count of its own, and each is tuned by its own batches.
 */
export class BatchThreads {
  readonly #freeCores: Pick<FreeCores, 'current' | 'mean'>;
  #fixed: number;
  /** Of the last batch that decoded. */
  #sequences = 1;
  #tuners: ThreadTuners | undefined;
  /** When the last batch for the prefill tuner ended, in milliseconds. */
  #prefillEndedAt = -Infinity;

  /** @param fixed the number for all batches, until it is tuned. */
  constructor(fixed: number, freeCores: Pick<FreeCores, 'current' | 'mean'> = new FreeCores()) {
    this.#fixed = fixed;
    this.#freeCores = freeCores;
  }

  /** The number of threads of batches that decode, as the last one had them. */
  get decode(): number {
    return this.#tuners?.decode(this.#sequences).count ?? this.#fixed;
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

  /** The number of threads that serves a batch best, which is about to be computed. */
  threadsFor(load: BatchLoad, now = performance.now()): number {
    const { prefill: tuner } = this.#tuners ?? {};
    if (tuner && isBoundByArithmetic(load) && now - this.#prefillEndedAt > maxPauseMs) {
      // Other programs may have started or ended in a pause: the first chunk of a prompt must not wait for their cores.
      const freeCores = this.#freeCores.current(now, tuner.wantedCores);
      if (freeCores !== undefined) tuner.onPause(freeCores);
    }
    if (load.decode > 0) this.#sequences = load.decode;
    return this.#countFor(load);
  }

  /** Records a batch for the tuner of its kind. @param threads of the batch: if not the tuner's, it says nothing. */
  onBatch(batch: TimedBatch, threads: number): void {
    const { load, ms, endedAt } = batch;
    if (isBoundByArithmetic(load)) this.#prefillEndedAt = endedAt;
    if (threads !== this.#countFor(load)) return;
    if (load.prefill === 0) this.#tuners?.decode(load.decode).onDecodeBatch(ms, endedAt);
    else if (isBoundByArithmetic(load)) this.#tuners?.prefill?.onPrefillBatch(batch, this.#freeCores.mean(endedAt));
  }

  #countFor(load: BatchLoad): number {
    if (isBoundByArithmetic(load)) return this.prefill;
    return this.#tuners?.decode(load.decode).count ?? this.#fixed;
  }
}

const isBoundByArithmetic = ({ prefill }: BatchLoad): boolean => prefill >= minArithmeticTokens;

/**
 * From here on a batch is bound by arithmetic: each weight that is read is used for so many tokens that all cores are busy
 * between two barriers. Below it the weights' way from memory takes most of the time, as when one token is decoded, and on
 * a small model the barriers. After a long prompt attention adds to the arithmetic: with 1,520 tokens before them, 21 tokens
 * take 8 times as long as one (135M model, one thread). Decode tokens in the same batch do not matter: they are few.
 */
const minArithmeticTokens = 16;
/** Without prefill for this long, it is not known any more which cores are free. */
const maxPauseMs = 250;

/** The largest number of threads for a batch: the lowest limit of the inferences that have tokens in it. */
export class ThreadCap {
  readonly #paces = new Map<object, Pace>();

  /** The number of threads of a batch that would have so many. */
  limit(threads: number): number {
    const limitOf = ({ limits: { maxThreads, maxShare } }: Pace): number =>
      Math.min(maxThreads || Infinity, Math.max(1, Math.floor(threads * (maxShare || 1))));
    return Math.min(threads, ...[...this.#paces.values()].map(limitOf));
  }

  /** An inference asks for a place in a batch. */
  enter(inference: object, pace: Pace | undefined): void {
    if (pace) this.#paces.set(inference, pace);
  }

  leave(inference: object): void {
    this.#paces.delete(inference);
  }
}
