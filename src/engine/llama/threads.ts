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

/** The fewest threads that are nearly the fastest: a game needs the other cores. */
export function fewest(times: ThreadTimes): number {
  const best = Math.min(...times.values());
  const good = [...times].filter(([, ms]) => ms <= best * aboutAsFast).map(([count]) => count);
  return Math.min(...good);
}

/** What is being tried: fewer threads because the present ones are slow, or more because they may do better again. */
interface Trial {
  readonly from: number;
  /** Milliseconds of a token before. */
  readonly before: number;
  readonly up: boolean;
}

/**
 * How many threads evaluate the tokens of a model. Where other programs take the cores, more threads are slower, for they
 * wait for each other: so a count is left when it is twice as slow as it was for a second, and more are tried again later.
 */
export class Threads {
  readonly #steps: readonly number[];
  /** The usual milliseconds of a batch, by threads and width. */
  readonly #usual = new Map<string, number>();
  #count: number;
  #window: number[] = [];
  #windowStart = 0;
  #width = 0;
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
    if (width !== this.#width) return this.#begin(width, now);
    this.#window.push(ms);
    this.#nextTry ??= now + this.#patience;
    if (this.#trial) return this.#judge(this.#trial, ms, now);
    if (now - this.#windowStart < windowMs || this.#window.length < fewSamples) return;
    this.#look(median(this.#window), now);
  }

  // A window holds batches of one width only, and a trial cannot be judged by others.
  #begin(width: number, now: number): void {
    if (this.#trial) this.#end(this.#trial.from, now);
    this.#width = width;
    this.#clear(now);
  }

  #look(ms: number, now: number): void {
    const usual = this.#usual.get(key(this.#count, this.#width));
    const fewer = this.#neighbour(-1);
    if (usual !== undefined && ms > usual * slow && fewer !== undefined) return this.#try(fewer, ms, false, now);
    if (usual === undefined || ms < usual) this.#usual.set(key(this.#count, this.#width), ms);
    const more = this.#neighbour(1);
    if (more !== undefined && this.#nextTry !== undefined && now >= this.#nextTry) this.#try(more, ms, true, now);
    else this.#clear(now);
  }

  #try(count: number, before: number, up: boolean, now: number): void {
    this.#trial = { from: this.#count, before, up };
    this.#count = count;
    this.#clear(now);
  }

  #judge(trial: Trial, ms: number, now: number): void {
    // One token says enough of threads that wait for each other.
    if (trial.up && ms > trial.before * tooSlow) return this.#refuse(trial, now);
    if (this.#window.length < (trial.up ? samples : fewSamples)) return;
    if (median(this.#window) > trial.before * better) return this.#refuse(trial, now);
    this.#patience = soon;
    this.#end(this.#count, now);
  }

  #refuse(trial: Trial, now: number): void {
    const fewer = this.#neighbour(-1);
    if (!trial.up && fewer !== undefined) {
      this.#count = fewer;
      return this.#clear(now);
    }
    // Where no fewer are better, it is not the threads: this is what is usual now.
    if (!trial.up) this.#usual.set(key(trial.from, this.#width), trial.before);
    else this.#patience = Math.min(this.#patience * 2, rarely);
    this.#end(trial.from, now);
  }

  #end(count: number, now: number): void {
    this.#trial = undefined;
    this.#count = count;
    this.#nextTry = now + this.#patience;
    this.#clear(now);
  }

  #clear(now: number): void {
    this.#window = [];
    this.#windowStart = now;
  }

  #neighbour(distance: 1 | -1): number | undefined {
    return this.#steps[this.#steps.indexOf(this.#count) + distance];
  }
}

const aboutAsFast = 1.05;
const slow = 2;
const tooSlow = 1.5;
const better = 0.9;
const windowMs = 1000;
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
