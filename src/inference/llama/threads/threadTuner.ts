import type { LlamaContext } from 'node-llama-cpp';

/** Milliseconds to decode one token, by thread count. */
export type ThreadTimings = ReadonlyMap<number, number>;

export interface ThreadTunerOptions {
  readonly maxThreads: number;
  /** Benchmarked at load, while the model was otherwise idle; empty: they are not known. */
  readonly timings: ThreadTimings;
  readonly initialThreads: number;
}

/** The thread counts to try: 1, 2, 4, ... and the maximum itself. */
export function threadCandidates(max: number): readonly number[] {
  const powersOfTwo = [];
  for (let count = 1; count < max; count *= 2) powersOfTwo.push(count);
  return [...powersOfTwo, max];
}

/**
 * The smallest thread count that is nearly as fast as the fastest: a game needs the other cores. The benchmark runs on an
 * idle machine, so a count that uses every core gets a penalty: in use, the server and its client need a core too.
 */
export function fewestNearFastest(timings: ThreadTimings, cores: number): number {
  const expected = [...timings].map(([count, ms]) => ({
    count,
    ms: count < cores || cores === 1 ? ms : ms * allCoresPenalty,
  }));
  const bestMs = Math.min(...expected.map(({ ms }) => ms));
  return Math.min(...expected.filter(({ ms }) => ms <= bestMs * maxSlowdownAtLoad).map(({ count }) => count));
}

/** A neighbouring thread count on trial: it is kept or rejected by the next batches. */
interface ThreadTrial {
  /** The count before the trial. */
  readonly from: number;
  /** Mean milliseconds of such a batch before the trial. */
  readonly beforeMs: number;
  /** Whether the trial reacts to a slowdown: then it steps down until a count is faster. */
  readonly isSlowdown: boolean;
  /** The trial succeeds when a batch takes at most this fraction of `beforeMs`. */
  readonly maxTimeRatio: number;
}

interface TimingWindow {
  readonly batchMs: number[];
  /** When the first of them began, in milliseconds. */
  readonly since: number;
}

/**
 * Auto-tunes the number of threads of batches that decode about the same number of sequences, by hill climbing over
 * 1, 2, 4, ... maximum: tries a neighbouring count, keeps it if batches get faster. When other programs use the cores, threads stall at barriers, so more threads are slower. Where
 * threads take all cores, some batches stall and the others do not: the median of a few shows nothing of it, the mean of a
 * second does.
 *
 * | state          | event                                         | next state                                           |
 * | -------------- | --------------------------------------------- | ---------------------------------------------------- |
 * | steady         | mean of 1 s over 2x usual, or usual unknown   | slowdown trial of the next lower count, if any       |
 * | steady         | retune delay is over                          | regular trial of the next count, up and down in turn |
 * | regular trial  | one batch over 1.5x, or median of 6 too slow  | steady at the old count, delay doubled               |
 * | regular trial  | mean of 1 s at most 0.9x (up), 1.03x (down)   | steady at the new count, delay `afterSuccess`        |
 * | regular trial  | mean of 1 s above it                          | steady at the old count, delay doubled               |
 * | slowdown trial | median of 3 at most 0.9x                      | steady at the new count, delay `afterSuccess`        |
 * | slowdown trial | median of 3 above 0.9x                        | slowdown trial of the next lower count               |
 * | slowdown trial | the same at the lowest count                  | steady at the old count, this time is usual now      |
 */
export class ThreadTuner {
  readonly #candidates: readonly number[];
  /** Usual milliseconds of a batch, by thread count. */
  readonly #usualMs: Map<number, number>;
  #window: TimingWindow | undefined;
  #count: number;
  #trial: ThreadTrial | undefined;
  #nextTrialAt: number | undefined;
  #delayMs: number;
  #isNextTrialUp = true;

  constructor({ maxThreads, timings, initialThreads }: ThreadTunerOptions) {
    this.#candidates = [...new Set([...threadCandidates(maxThreads), initialThreads])].toSorted((a, b) => a - b);
    this.#count = initialThreads;
    this.#usualMs = new Map(timings);
    this.#delayMs = this.#isUnpromising(this.#neighbour(1)) ? retuneDelayMs.unpromising : retuneDelayMs.initial;
  }

  /** The number of threads for the next batch. */
  get count(): number {
    return this.#count;
  }

  /** The next larger number. */
  get more(): number {
    return this.#neighbour(1) ?? this.#count;
  }

  /** Records a batch without prefill. @param ms how long it took; @param now when it ended, in milliseconds. */
  onDecodeBatch(ms: number, now: number): void {
    const window = (this.#window ??= { batchMs: [], since: now - ms });
    window.batchMs.push(ms);
    this.#nextTrialAt ??= now + this.#delayMs;
    if (this.#trial) return this.#evaluateTrial(this.#trial, window, now);
    if (now - window.since < windowMs || window.batchMs.length < minSlowdownSamples) return;
    this.#window = undefined;
    this.#evaluate(mean(window.batchMs), now);
  }

  /** Steady state, at the end of a window: starts a trial or stays. */
  #evaluate(ms: number, now: number): void {
    const usualMs = this.#usualMs.get(this.#count);
    const fewer = this.#neighbour(-1);
    // The first measurement may be slow already, so fewer threads are tried once before it counts as usual.
    const isSlow = usualMs === undefined || ms > usualMs * slowdownToReact;
    if (isSlow && fewer !== undefined)
      return this.#startTrial(fewer, { beforeMs: ms, isSlowdown: true, maxTimeRatio: minSpeedup });
    if (usualMs === undefined || ms < usualMs) this.#usualMs.set(this.#count, ms);
    if (this.#nextTrialAt === undefined || now < this.#nextTrialAt) return;
    const more = this.#neighbour(1);
    const up = more !== undefined && (this.#isNextTrialUp || fewer === undefined);
    this.#isNextTrialUp = !up;
    const trial = { beforeMs: ms, isSlowdown: false };
    if (up) this.#startTrial(more, { ...trial, maxTimeRatio: minSpeedup });
    else if (fewer !== undefined) this.#startTrial(fewer, { ...trial, maxTimeRatio: maxSlowdownForFewerThreads });
  }

  #startTrial(count: number, trial: Omit<ThreadTrial, 'from'>, from = this.#count): void {
    this.#trial = { ...trial, from };
    this.#count = count;
    this.#window = undefined;
  }

  #evaluateTrial(trial: ThreadTrial, { batchMs }: TimingWindow, now: number): void {
    const maxMs = trial.beforeMs * trial.maxTimeRatio;
    if (trial.isSlowdown) {
      if (batchMs.length < minSlowdownSamples) return;
      if (median(batchMs) > maxMs) return this.#rejectTrial(trial, now);
    } else {
      if (isClearlySlower(batchMs, trial)) return this.#rejectTrial(trial, now);
      if (sum(batchMs) < windowMs) return;
      if (mean(batchMs) > maxMs) return this.#rejectTrial(trial, now);
    }
    this.#delayMs = retuneDelayMs.afterSuccess;
    // The same direction may help again.
    this.#isNextTrialUp = this.#count > trial.from;
    this.#endTrial(this.#count, now);
  }

  #rejectTrial(trial: ThreadTrial, now: number): void {
    const fewer = this.#neighbour(-1);
    if (trial.isSlowdown && fewer !== undefined) return this.#startTrial(fewer, trial, trial.from);
    // No smaller count is faster, so the threads are not the cause: the present speed is the usual one now.
    if (trial.isSlowdown) this.#usualMs.set(trial.from, trial.beforeMs);
    else this.#delayMs = Math.min(this.#delayMs * 2, retuneDelayMs.max);
    this.#endTrial(trial.from, now);
  }

  #endTrial(count: number, now: number): void {
    this.#trial = undefined;
    this.#count = count;
    this.#nextTrialAt = now + this.#delayMs;
    this.#window = undefined;
  }

  /** Whether a count was far slower in the benchmark at load, so that trying it would only stall the output. */
  #isUnpromising(count: number | undefined): boolean {
    const [currentMs, candidateMs] = [this.#count, count].map((threads) => threads && this.#usualMs.get(threads));
    return !!currentMs && !!candidateMs && candidateMs > currentMs * slowdownToAbort;
  }

  #neighbour(distance: 1 | -1): number | undefined {
    return this.#candidates[this.#candidates.indexOf(this.#count) + distance];
  }
}

/** Whether the first batches of a regular trial show already that it fails. One is enough where threads stall at each barrier. */
function isClearlySlower(batchMs: readonly number[], { beforeMs, maxTimeRatio }: ThreadTrial): boolean {
  if (batchMs.length > minTrialSamples) return false;
  if ((batchMs.at(-1) ?? 0) > beforeMs * slowdownToAbort) return true;
  return batchMs.length === minTrialSamples && median(batchMs) > beforeMs * maxTimeRatio;
}

// Ratios of batch times.
const maxSlowdownAtLoad = 1.05;
const allCoresPenalty = 1.25;
const slowdownToReact = 2;
const slowdownToAbort = 1.5;
/** A trial of more threads, or one after a slowdown, has to bring the time down to this fraction. */
const minSpeedup = 0.9;
const maxSlowdownForFewerThreads = 1.03;
const windowMs = 1000;
// Batches whose median decides.
const minSlowdownSamples = 3;
const minTrialSamples = 6;
/** Time until another count is tried; after each failed trial it doubles, up to `max`. */
const retuneDelayMs = { initial: 1_000, afterSuccess: 10_000, unpromising: 120_000, max: 600_000 } as const;

const sum = (values: readonly number[]): number => values.reduce((total, value) => total + value, 0);

/** The mean of a list; NaN for an empty list. */
const mean = (values: readonly number[]): number => sum(values) / values.length;

/** The median of a list (the upper one of the two middle values of an even count); NaN for an empty list. */
const median = (values: readonly number[]): number =>
  values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)] ?? Number.NaN;

/** For all thread counts together. */
const budgetMs = 400;
// Tokens decoded with each count. On a large model the minimum takes longer than the budget.
const [minTokens, maxTokens] = [3, 32];

/**
 * Thread benchmark: times the decoding of one token with each thread count, in about 0.4 s in all.
 * @param applyThreads makes the context use a count from its next batch on.
 * @returns an empty map when the model has no token to start with.
 */
export async function benchmarkThreads(
  context: LlamaContext,
  counts: readonly number[],
  applyThreads: (count: number) => void,
): Promise<ThreadTimings> {
  const { model } = context;
  const firstToken = model.tokens.bos ?? model.tokenize('a')[0];
  if (firstToken === undefined) return new Map();
  const sequence = context.getSequence();
  const tokens = sequence.evaluate([firstToken], { temperature: 0, yieldEogToken: true });
  try {
    const timings = new Map<number, number>();
    for (const count of counts) {
      applyThreads(count);
      // The first token is slower: weights are read from disk, threads start.
      await tokens.next();
      timings.set(count, await meanTokenMs(tokens, budgetMs / counts.length));
    }
    return timings;
  } finally {
    await tokens.return();
    await sequence.dispose();
  }
}

/** The mean milliseconds of a token, without the slowest one: it may have read weights from disk. */
async function meanTokenMs(tokens: AsyncGenerator<unknown>, budgetMs: number): Promise<number> {
  const tokenMs: number[] = [];
  const start = performance.now();
  for (let previous = start; tokenMs.length < maxTokens;) {
    if (tokenMs.length >= minTokens && previous - start > budgetMs) break;
    await tokens.next();
    const now = performance.now();
    tokenMs.push(now - previous);
    previous = now;
  }
  return mean(tokenMs.toSorted((a, b) => a - b).slice(0, -1));
}
