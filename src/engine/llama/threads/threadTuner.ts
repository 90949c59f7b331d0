/** Milliseconds that a model takes for its next token, by the number of threads. */
export type ThreadTimings = ReadonlyMap<number, number>;

export interface ThreadTunerOptions {
  /** The most that may be taken. */
  readonly most: number;
  /** What was measured while nothing else was asked of the model. */
  readonly times: ThreadTimings;
  readonly start: number;
}

/** The counts that are tried up to a most: 1, 2, 4, ... and the most itself. */
export function threadCandidates(max: number): readonly number[] {
  const steps = [];
  for (let count = 1; count < max; count *= 2) steps.push(count);
  return [...steps, max];
}

/**
 * The fewest threads that are nearly the fastest: a game needs the other cores. Nothing else ran while they were timed, so
 * what takes every core will be slower: the server itself needs one, and so does whoever listens.
 */
export function fewestNearFastest(times: ThreadTimings, cores: number): number {
  const expected = [...times].map(([count, ms]) => ({
    count,
    ms: count < cores || cores === 1 ? ms : ms * allCoresPenalty,
  }));
  const best = Math.min(...expected.map(({ ms }) => ms));
  return Math.min(...expected.filter(({ ms }) => ms <= best * maxSlowdownOfFewest).map(({ count }) => count));
}

/** What is being tried: fewer threads or more, because the present ones are slow, or because it is time to look again. */
interface ThreadTrial {
  readonly from: number;
  /** The batches by which it is judged. */
  readonly width: number;
  /** Milliseconds of such a batch before. */
  readonly before: number;
  /** Whether it is because the present count has become slow: then one goes down until it is better. */
  readonly isSlowdown: boolean;
  /** The part of `before` that a batch may take at most for the trial to succeed. */
  readonly enough: number;
  readonly since: number;
}

/** The latest batches of about the same width. */
interface TimingWindow {
  readonly ms: number[];
  readonly since: number;
}

/**
 * How many threads evaluate the tokens of a model. Where other programs take the cores, more threads are slower, for they
 * wait for each other: so a count is left when it is twice as slow as it was for a second. And now and then, ever more
 * seldom while nothing comes of it, more or fewer are tried. Batches are only compared with others of about the same width.
 */
export class ThreadTuner {
  readonly #candidates: readonly number[];
  /** The usual milliseconds of a batch, by threads and width. */
  readonly #usual = new Map<string, number>();
  #windows = new Map<number, TimingWindow>();
  #count: number;
  #trial: ThreadTrial | undefined;
  #nextTry: number | undefined;
  #retuneDelayMs: number;
  #up = true;

  constructor({ most: max, times, start }: ThreadTunerOptions) {
    this.#candidates = [...new Set([...threadCandidates(max), start])].toSorted((a, b) => a - b);
    this.#count = start;
    for (const [count, ms] of times) this.#usual.set(key(count, 1), ms);
    this.#retuneDelayMs = this.#isHopeless(this.#neighbour(1)) ? seldom : atFirst;
  }

  get count(): number {
    return this.#count;
  }

  /**
   * Hears of a batch that held the next tokens of some sequences.
   * @param ms how long it took; @param now when it ended, in milliseconds.
   */
  onDecodeBatch(sequences: number, ms: number, now: number): void {
    const width = about(sequences);
    const window = this.#windows.get(width) ?? { ms: [], since: now - ms };
    this.#windows.set(width, window);
    window.ms.push(ms);
    this.#nextTry ??= now + this.#retuneDelayMs;
    if (this.#trial) return this.#evaluateTrial(this.#trial, window, width, now);
    if (now - window.since < windowMs || window.ms.length < minSamplesToAbort) return;
    this.#windows.delete(width);
    this.#evaluate(width, median(window.ms), now);
  }

  #evaluate(width: number, ms: number, now: number): void {
    const usual = this.#usual.get(key(this.#count, width));
    const fewer = this.#neighbour(-1);
    // What is measured first may be slow already, so fewer threads are tried once before it is believed.
    const slower = usual === undefined || ms > usual * slowdownToReact;
    if (slower && fewer !== undefined)
      return this.#startTrial(fewer, { width, before: ms, isSlowdown: true, enough: minSpeedup }, now);
    if (usual === undefined || ms < usual) this.#usual.set(key(this.#count, width), ms);
    if (this.#nextTry === undefined || now < this.#nextTry) return;
    const more = this.#neighbour(1);
    const up = more !== undefined && (this.#up || fewer === undefined);
    this.#up = !up;
    if (up) this.#startTrial(more, { width, before: ms, isSlowdown: false, enough: minSpeedup }, now);
    else if (fewer !== undefined)
      this.#startTrial(fewer, { width, before: ms, isSlowdown: false, enough: maxSlowdownForFewerThreads }, now);
  }

  #startTrial(count: number, trial: Omit<ThreadTrial, 'from' | 'since'>, now: number): void {
    this.#trial = { ...trial, from: this.#count, since: now };
    this.#count = count;
    this.#windows.clear();
  }

  #evaluateTrial(trial: ThreadTrial, { ms }: TimingWindow, width: number, now: number): void {
    // Nobody writes so many at once any more.
    if (width !== trial.width) return now - trial.since > maxTrialMs ? this.#endTrial(trial.from, now) : undefined;
    // One token says enough of threads that wait for each other.
    if (!trial.isSlowdown && (ms.at(-1) ?? 0) > trial.before * slowdownToAbort) return this.#rejectTrial(trial, now);
    if (ms.length < (trial.isSlowdown ? minSamplesToAbort : minSamples)) return;
    if (median(ms) > trial.before * trial.enough) return this.#rejectTrial(trial, now);
    this.#retuneDelayMs = soon;
    // What has helped once may help again.
    this.#up = this.#count > trial.from;
    this.#endTrial(this.#count, now);
  }

  #rejectTrial(trial: ThreadTrial, now: number): void {
    const fewer = this.#neighbour(-1);
    if (trial.isSlowdown && fewer !== undefined) {
      this.#count = fewer;
      this.#windows.clear();
      return;
    }
    // Where no fewer are better, it is not the threads: this is what is usual now.
    if (trial.isSlowdown) this.#usual.set(key(trial.from, trial.width), trial.before);
    else this.#retuneDelayMs = Math.min(this.#retuneDelayMs * 2, rarely);
    this.#endTrial(trial.from, now);
  }

  #endTrial(count: number, now: number): void {
    this.#trial = undefined;
    this.#count = count;
    this.#nextTry = now + this.#retuneDelayMs;
    this.#windows.clear();
  }

  /** Whether the measurement at load leaves no hope for a count, so that trying it would only make text stutter. */
  #isHopeless(count: number | undefined): boolean {
    const [present, other] = [this.#count, count].map((of) => of && this.#usual.get(key(of, 1)));
    return !!present && !!other && other > present * slowdownToAbort;
  }

  #neighbour(distance: 1 | -1): number | undefined {
    return this.#candidates[this.#candidates.indexOf(this.#count) + distance];
  }
}

const maxSlowdownOfFewest = 1.05;
const allCoresPenalty = 1.25;
const slowdownToReact = 2;
const slowdownToAbort = 1.5;
const minSpeedup = 0.9;
const maxSlowdownForFewerThreads = 1.03;
const windowMs = 1000;
const maxTrialMs = 5000;
const minSamplesToAbort = 3;
const minSamples = 6;
// Milliseconds until another count is tried: at first, after a change, without hope, and after many tries in vain.
const atFirst = 1_000;
const soon = 10_000;
const seldom = 120_000;
const rarely = 600_000;

const key = (count: number, width: number): string => `${count}:${width}`;
// Batches of about the same width take about the same time.
const about = (width: number): number => 2 ** Math.ceil(Math.log2(width));

function median(values: readonly number[]): number {
  const sorted = values.toSorted((a, b) => a - b);
  return sorted[Math.floor(sorted.length / 2)] ?? 0;
}
