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

/** What is being tried: fewer threads because the present ones are slow, or more because they may do better again. */
interface Trial {
  readonly from: number;
  /** The batches by which it is judged. */
  readonly width: number;
  /** Milliseconds of such a batch before. */
  readonly before: number;
  readonly up: boolean;
  readonly since: number;
}

/** The latest batches of about the same width. */
interface Window {
  readonly ms: number[];
  readonly since: number;
}

/**
 * How many threads evaluate the tokens of a model. Where other programs take the cores, more threads are slower, for they
 * wait for each other: so a count is left when it is twice as slow as it was for a second, and more are tried again later.
 * Batches are only compared with others of about the same width.
 */
export class Threads {
  readonly #steps: readonly number[];
  /** The usual milliseconds of a batch, by threads and width. */
  readonly #usual = new Map<string, number>();
  #windows = new Map<number, Window>();
  #count: number;
  #trial: Trial | undefined;
  #nextTry: number | undefined;
  #patience = seldom;

  constructor({ most, times, start }: ThreadsOptions) {
    this.#steps = [...new Set([...ladder(most), start])].toSorted((a, b) => a - b);
    this.#count = start;
    for (const [count, ms] of times) this.#usual.set(key(count, 1), ms);
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
    if (slower && fewer !== undefined) return this.#try(fewer, { width, before: ms, up: false }, now);
    if (usual === undefined || ms < usual) this.#usual.set(key(this.#count, width), ms);
    const more = this.#neighbour(1);
    if (more !== undefined && this.#nextTry !== undefined && now >= this.#nextTry)
      this.#try(more, { width, before: ms, up: true }, now);
  }

  #try(count: number, trial: Pick<Trial, 'width' | 'before' | 'up'>, now: number): void {
    this.#trial = { ...trial, from: this.#count, since: now };
    this.#count = count;
    this.#windows.clear();
  }

  #judge(trial: Trial, { ms }: Window, width: number, now: number): void {
    // Nobody writes so many at once any more.
    if (width !== trial.width) return now - trial.since > longestTrialMs ? this.#end(trial.from, now) : undefined;
    // One token says enough of threads that wait for each other.
    if (trial.up && (ms.at(-1) ?? 0) > trial.before * tooSlow) return this.#refuse(trial, now);
    if (ms.length < (trial.up ? samples : fewSamples)) return;
    if (median(ms) > trial.before * better) return this.#refuse(trial, now);
    this.#patience = soon;
    this.#end(this.#count, now);
  }

  #refuse(trial: Trial, now: number): void {
    const fewer = this.#neighbour(-1);
    if (!trial.up && fewer !== undefined) {
      this.#count = fewer;
      this.#windows.clear();
      return;
    }
    // Where no fewer are better, it is not the threads: this is what is usual now.
    if (!trial.up) this.#usual.set(key(trial.from, trial.width), trial.before);
    else this.#patience = Math.min(this.#patience * 2, rarely);
    this.#end(trial.from, now);
  }

  #end(count: number, now: number): void {
    this.#trial = undefined;
    this.#count = count;
    this.#nextTry = now + this.#patience;
    this.#windows.clear();
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
const windowMs = 1000;
const longestTrialMs = 5000;
const fewSamples = 3;
const samples = 6;
// Milliseconds until more threads are tried: after a change, without one, and after many tries in vain.
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
