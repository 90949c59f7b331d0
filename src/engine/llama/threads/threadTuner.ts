/** Milliseconds that a model takes for its next token, by the number of threads. */
export type ThreadTimes = ReadonlyMap<number, number>;

export interface ThreadsOptions {
  /** The most that may be taken. */
  readonly most: number;
  /** What was measured while nothing else was asked of the model. */
  readonly times: ThreadTimes;
  readonly start: number;
}

/** The counts that are tried up to a most: 1, 2, 4, ... and the most itself. */
export function ladder(most: number): readonly number[] {
  const steps = [];
  for (let count = 1; count < most; count *= 2) steps.push(count);
  return [...steps, most];
}

/**
 * The fewest threads that are nearly the fastest: a game needs the other cores. Nothing else ran while they were timed, so
 * what takes every core will be slower: the server itself needs one, and so does whoever listens.
 */
export function fewest(times: ThreadTimes, cores: number): number {
  const expected = [...times].map(([count, ms]) => ({ count, ms: count < cores || cores === 1 ? ms : ms * crowded }));
  const best = Math.min(...expected.map(({ ms }) => ms));
  return Math.min(...expected.filter(({ ms }) => ms <= best * aboutAsFast).map(({ count }) => count));
}

/** What is being tried: fewer threads or more, because the present ones are slow, or because it is time to look again. */
interface Trial {
  readonly from: number;
  /** The batches by which it is judged. */
  readonly width: number;
  /** Milliseconds of such a batch before. */
  readonly before: number;
  /** Whether it is because the present count has become slow: then one goes down until it is better. */
  readonly isEscape: boolean;
  /** The part of `before` that a batch may take at most for the trial to succeed. */
  readonly enough: number;
  readonly since: number;
}

/** The latest batches of about the same width. */
interface Window {
  readonly ms: number[];
  readonly since: number;
}

/**
 * How many threads evaluate the tokens of a model. Where other programs take the cores, more threads are slower, for they
 * wait for each other: so a count is left when it is twice as slow as it was for a second. And now and then, ever more
 * seldom while nothing comes of it, more or fewer are tried. Batches are only compared with others of about the same width.
 */
export class Threads {
  readonly #steps: readonly number[];
  /** The usual milliseconds of a batch, by threads and width. */
  readonly #usual = new Map<string, number>();
  #windows = new Map<number, Window>();
  #count: number;
  #trial: Trial | undefined;
  #nextTry: number | undefined;
  #patience: number;
  #up = true;

  constructor({ most, times, start }: ThreadsOptions) {
    this.#steps = [...new Set([...ladder(most), start])].toSorted((a, b) => a - b);
    this.#count = start;
    for (const [count, ms] of times) this.#usual.set(key(count, 1), ms);
    this.#patience = this.#isHopeless(this.#neighbour(1)) ? seldom : atFirst;
  }

  get count(): number {
    return this.#count;
  }

  /**
   * Hears of a batch that held the next tokens of some sequences.
   * @param ms how long it took; @param now when it ended, in milliseconds.
   */
  wrote(sequences: number, ms: number, now: number): void {
    const width = about(sequences);
    const window = this.#windows.get(width) ?? { ms: [], since: now - ms };
    this.#windows.set(width, window);
    window.ms.push(ms);
    this.#nextTry ??= now + this.#patience;
    if (this.#trial) return this.#judge(this.#trial, window, width, now);
    if (now - window.since < windowMs || window.ms.length < fewSamples) return;
    this.#windows.delete(width);
    this.#look(width, median(window.ms), now);
  }

  #look(width: number, ms: number, now: number): void {
    const usual = this.#usual.get(key(this.#count, width));
    const fewer = this.#neighbour(-1);
    // What is measured first may be slow already, so fewer threads are tried once before it is believed.
    const slower = usual === undefined || ms > usual * slow;
    if (slower && fewer !== undefined)
      return this.#try(fewer, { width, before: ms, isEscape: true, enough: better }, now);
    if (usual === undefined || ms < usual) this.#usual.set(key(this.#count, width), ms);
    if (this.#nextTry === undefined || now < this.#nextTry) return;
    const more = this.#neighbour(1);
    const up = more !== undefined && (this.#up || fewer === undefined);
    this.#up = !up;
    if (up) this.#try(more, { width, before: ms, isEscape: false, enough: better }, now);
    else if (fewer !== undefined) this.#try(fewer, { width, before: ms, isEscape: false, enough: nearlyAsGood }, now);
  }

  #try(count: number, trial: Omit<Trial, 'from' | 'since'>, now: number): void {
    this.#trial = { ...trial, from: this.#count, since: now };
    this.#count = count;
    this.#windows.clear();
  }

  #judge(trial: Trial, { ms }: Window, width: number, now: number): void {
    // Nobody writes so many at once any more.
    if (width !== trial.width) return now - trial.since > longestTrialMs ? this.#end(trial.from, now) : undefined;
    // One token says enough of threads that wait for each other.
    if (!trial.isEscape && (ms.at(-1) ?? 0) > trial.before * tooSlow) return this.#refuse(trial, now);
    if (ms.length < (trial.isEscape ? fewSamples : samples)) return;
    if (median(ms) > trial.before * trial.enough) return this.#refuse(trial, now);
    this.#patience = soon;
    // What has helped once may help again.
    this.#up = this.#count > trial.from;
    this.#end(this.#count, now);
  }

  #refuse(trial: Trial, now: number): void {
    const fewer = this.#neighbour(-1);
    if (trial.isEscape && fewer !== undefined) {
      this.#count = fewer;
      this.#windows.clear();
      return;
    }
    // Where no fewer are better, it is not the threads: this is what is usual now.
    if (trial.isEscape) this.#usual.set(key(trial.from, trial.width), trial.before);
    else this.#patience = Math.min(this.#patience * 2, rarely);
    this.#end(trial.from, now);
  }

  #end(count: number, now: number): void {
    this.#trial = undefined;
    this.#count = count;
    this.#nextTry = now + this.#patience;
    this.#windows.clear();
  }

  /** Whether the measurement at load leaves no hope for a count, so that trying it would only make text stutter. */
  #isHopeless(count: number | undefined): boolean {
    const [present, other] = [this.#count, count].map((of) => of && this.#usual.get(key(of, 1)));
    return !!present && !!other && other > present * tooSlow;
  }

  #neighbour(distance: 1 | -1): number | undefined {
    return this.#steps[this.#steps.indexOf(this.#count) + distance];
  }
}

const aboutAsFast = 1.05;
const crowded = 1.25;
const slow = 2;
const tooSlow = 1.5;
const better = 0.9;
const nearlyAsGood = 1.03;
const windowMs = 1000;
const longestTrialMs = 5000;
const fewSamples = 3;
const samples = 6;
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
