import type { TimedBatch } from '../batching/batchTimer.ts';

interface PrefillWindow {
  /** Tokens of such a batch, rounded up to a power of two. */
  readonly width: number;
  tokens: number;
  ms: number;
  /** CPU time of the process. */
  cpuMs: number;
}

/** Another thread count on trial: the next window of the same width decides. */
interface PrefillTrial {
  /** The count before the trial. */
  readonly from: number;
  readonly width: number;
  readonly msPerTokenBefore: number;
  /** When the trial began, in milliseconds. */
  readonly since: number;
}

/**
 * Tunes the number of prefill threads: as many as other programs leave cores free. llama.cpp's threads spin while they wait
 * for each other, so a thread uses less than a core only when another program has it, and then it stalls all others at the
 * next barrier. How much of the cores the threads had does not depend on the model, the size of the batch or the tokens
 * before it, as the milliseconds of a token do; these decide a trial, where both counts compute batches of about the same
 * size.
 *
 * | state      | event                                                   | next state                                     |
 * | ---------- | ------------------------------------------------------- | ---------------------------------------------- |
 * | any        | a batch after a pause                                   | steady at the number of free cores             |
 * | steady     | in 100 ms, 0.4 or more cores of the threads were missing | trial of the number of cores that they had     |
 * | steady     | none was missing, more are free, delay is over          | trial of the number of free cores              |
 * | trial down | after 100 ms: a token takes at most 1.05x               | steady at the new count                        |
 * | trial up   | after 100 ms: a token takes at most 0.9x                | steady at the new count                        |
 * | both       | after 100 ms: a token takes more                        | steady at the old count, next delay is doubled |
 * | both       | batch of another width, 5 s after the start             | steady at the old count                        |
 */
export class PrefillTuner {
  readonly #maxThreads: number;
  readonly #delayDown = new RetryDelay();
  readonly #delayUp = new RetryDelay();
  #count: number;
  /** The last that is known; none where it cannot be measured. */
  #freeCores = Infinity;
  /** By width. */
  readonly #windows = new Map<number, PrefillWindow>();
  #trial: PrefillTrial | undefined;

  constructor(maxThreads: number) {
    this.#maxThreads = maxThreads;
    this.#count = maxThreads;
  }

  /** The number of threads for the next prefill batch. */
  get count(): number {
    return this.#count;
  }

  /** With so many free cores it takes the largest number of threads. */
  get wantedCores(): number {
    return this.#maxThreads - minMissingCores;
  }

  /** The next batch is the first one after a pause, in which so many cores were free on average. */
  onPause(freeCores: number): void {
    this.#freeCores = freeCores;
    this.#endTrial(this.#freeCount());
  }

  /** Records a prefill batch of `count` threads. @param freeCores meanwhile, with its own; undefined: unknown. */
  onPrefillBatch({ load, ms, cpuMs, endedAt }: TimedBatch, freeCores: number | undefined): void {
    this.#freeCores = freeCores ?? this.#freeCores;
    const tokens = load.prefill + load.decode;
    const width = 2 ** Math.ceil(Math.log2(tokens));
    if (this.#trial && this.#trial.width !== width) {
      if (endedAt - this.#trial.since > maxTrialMs) this.#endTrial(this.#trial.from);
      return;
    }
    const window = this.#windows.get(width) ?? { width, tokens: 0, ms: 0, cpuMs: 0 };
    this.#windows.set(width, window);
    window.tokens += tokens;
    window.ms += ms;
    window.cpuMs += cpuMs;
    if (window.ms < windowMs) return;
    this.#windows.delete(width);
    if (this.#trial) this.#decideTrial(this.#trial, window, endedAt);
    else this.#evaluate(window, endedAt);
  }

  /** Steady state, at the end of a window: starts a trial or stays. */
  #evaluate(window: PrefillWindow, now: number): void {
    const cores = window.cpuMs / window.ms;
    const isMissingCores = cores <= this.#count - minMissingCores;
    if (isMissingCores && this.#count > 1 && this.#delayDown.isOver(now)) {
      this.#startTrial(Math.max(1, Math.min(this.#count - 1, Math.floor(cores))), window, now);
    } else if (!isMissingCores && this.#freeCount() > this.#count && this.#delayUp.isOver(now)) {
      this.#startTrial(this.#freeCount(), window, now);
    }
  }

  #startTrial(count: number, window: PrefillWindow, now: number): void {
    this.#trial = { from: this.#count, width: window.width, msPerTokenBefore: msPerToken(window), since: now };
    this.#count = count;
    this.#windows.clear();
  }

  #decideTrial(trial: PrefillTrial, window: PrefillWindow, now: number): void {
    const isUp = this.#count > trial.from;
    const timeRatio = msPerToken(window) / trial.msPerTokenBefore;
    if (timeRatio > (isUp ? maxTimeRatio.up : maxTimeRatio.down)) {
      (isUp ? this.#delayUp : this.#delayDown).onFailure(now);
      return this.#endTrial(trial.from);
    }
    if (isUp) this.#delayUp.reset();
    else {
      this.#delayDown.reset();
      this.#delayUp.start(now);
    }
    this.#endTrial(this.#count);
    // Of many threads too many, several steps are needed: the next one follows at once.
    this.#evaluate(window, now);
  }

  #endTrial(count: number): void {
    this.#trial = undefined;
    this.#windows.clear();
    this.#count = count;
  }

  /** The number of threads that have a core each: as many as are not missing more than a part of one. */
  #freeCount(): number {
    return Math.max(1, Math.min(this.#maxThreads, Math.floor(this.#freeCores + minMissingCores)));
  }
}

/** How long to wait for the next trial in one direction: doubled by each failure. */
class RetryDelay {
  #delayMs: number = retryDelayMs.initial;
  #endsAt = -Infinity;

  isOver(now: number): boolean {
    return now >= this.#endsAt;
  }

  start(now: number): void {
    this.#endsAt = now + this.#delayMs;
  }

  onFailure(now: number): void {
    this.start(now);
    this.#delayMs = Math.min(this.#delayMs * 2, retryDelayMs.max);
  }

  /** The next trial is not delayed, and the delay after it is short again. */
  reset(): void {
    this.#delayMs = retryDelayMs.initial;
    this.#endsAt = -Infinity;
  }
}

const msPerToken = ({ ms, tokens }: PrefillWindow): number => ms / tokens;

/** Of the cores that the threads could use. A program that computes all the time takes half of a core that it shares. */
const minMissingCores = 0.4;
/**
 * The time of a token in a trial, relative to that before it. Fewer threads need not be faster, since another program needs
 * the cores; more threads have to be clearly faster.
 */
const maxTimeRatio = { up: 0.9, down: 1.05 } as const;
const windowMs = 100;
const maxTrialMs = 5000;
const retryDelayMs = { initial: 2_000, max: 120_000 } as const;
