import { afterMs, Listeners, onAbort, onceAny, type Subscribe } from '../../base/events.ts';
import type { SendMessageRequest, SetPaceRequest } from '../../protocol/frames.gen.ts';

/** Who goes first where inferences compete for slots and batches. */
export type Priority = SendMessageRequest['priority'];

/** The limits of a pace, as plain data. */
export interface PaceLimits extends SetPaceRequest {
  /** The part of the time in which steps are computed, and of the threads that they would have; 0 = no limit. */
  readonly maxShare: number;
}

/** A load that takes so many milliseconds takes longer than usual: who waits is told then, and at such intervals. */
export const slowLoadMs = 8000;
export const fullPace: PaceLimits = { paused: false, maxTokensPerSecond: 0, maxThreads: 0, maxShare: 0 };

/** When an inference may compute. */
export interface InferenceSchedule {
  /** Default: NORMAL. */
  readonly priority?: Priority;
  /**
   * Limits that change while the inference runs. While it is paused, no token is computed after the batch under way, and the
   * inference has no slot; later it continues with the text that it would have had. Default: none.
   */
  readonly pace?: Pace;
}

/** The pace of a session: limits of all its inferences together. Those that run are told when they change. */
export class Pace {
  /** The limit of tokens per second; inferences count their tokens in it. */
  readonly rate = new TokenRate(() => this.#limits.maxTokensPerSecond);
  readonly #listeners = new Listeners();
  /** Calls a listener after each change, until the returned function is called. */
  readonly onChange = this.#listeners.add;
  #limits: PaceLimits;
  #nextStepAt = 0;

  constructor(limits: PaceLimits = fullPace) {
    this.#limits = limits;
  }

  get limits(): PaceLimits {
    return this.#limits;
  }

  /** Replaces these limits. */
  set(changes: Partial<PaceLimits>): void {
    const limits = { ...this.#limits, ...changes };
    if (limits.maxTokensPerSecond !== this.#limits.maxTokensPerSecond) this.rate.reset();
    this.#limits = limits;
    this.#listeners.call();
  }

  /** Milliseconds until the next step may begin; 0 = now. */
  stepWaitMs(now = performance.now()): number {
    return this.#limits.maxShare === 0 ? 0 : Math.max(0, this.#nextStepAt - now);
  }

  /** A step of so many milliseconds has ended, maybe together with others that were in the same batch. */
  endStep(ms: number, now = performance.now()): void {
    const { maxShare } = this.#limits;
    if (maxShare > 0) this.#nextStepAt = Math.max(this.#nextStepAt, now + ms * (1 / maxShare - 1));
  }
}

/** Waits until a pace is not paused, or one of the signals is aborted. */
export async function untilResumed(pace: Pace | undefined, ...signals: readonly AbortSignal[]): Promise<void> {
  while (pace?.limits.paused && !signals.some(({ aborted }) => aborted))
    await onceAny(pace.onChange, ...signals.map(onAbort));
}

/** Holds back the tokens of one inference: by the pace of its session, and by a limit of its own. */
export class TokenThrottle {
  readonly #rates: readonly TokenRate[];
  readonly #onChange: readonly Subscribe[];

  /** @param maxTokensPerSecond its own limit; 0 = none. */
  constructor(pace: Pace | undefined, maxTokensPerSecond = 0) {
    this.#rates = [...(pace ? [pace.rate] : []), new TokenRate(() => maxTokensPerSecond)];
    this.#onChange = pace ? [pace.onChange] : [];
  }

  /** Milliseconds until the next token may be computed; 0 = now. */
  waitMs(): number {
    return Math.max(...this.#rates.map((rate) => rate.waitMs()));
  }

  spend(tokens: number): void {
    for (const rate of this.#rates) rate.spend(tokens);
  }

  /** Waits until the next token may be computed, or one of the signals is aborted. */
  async untilDue(...signals: readonly AbortSignal[]): Promise<void> {
    for (let ms = this.waitMs(); ms > 0 && !signals.some(({ aborted }) => aborted); ms = this.waitMs())
      await onceAny(afterMs(ms), ...this.#onChange, ...signals.map(onAbort));
  }
}

/** Timers fire late. Tokens catch up with this many milliseconds, so that they are on the whole as fast as they may be. */
const maxLagMs = 50;

/** A limit of tokens per second: when the next token may be computed. */
export class TokenRate {
  readonly #perSecond: () => number;
  #nextAt = 0;

  /** @param perSecond the limit at the moment; 0 = none. */
  constructor(perSecond: () => number) {
    this.#perSecond = perSecond;
  }

  /** Milliseconds until the next token may be computed; 0 = now. */
  waitMs(now = performance.now()): number {
    return this.#perSecond() === 0 ? 0 : Math.max(0, this.#nextAt - now);
  }

  spend(tokens: number, now = performance.now()): void {
    const perSecond = this.#perSecond();
    if (perSecond > 0) this.#nextAt = Math.max(this.#nextAt, now - maxLagMs) + (tokens * 1000) / perSecond;
  }

  /** The limit has changed: tokens that were counted under another one do not matter any more. */
  reset(): void {
    this.#nextAt = 0;
  }
}
