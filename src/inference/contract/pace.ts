import type { SendMessageRequest, SetPaceRequest } from '../../protocol/frames.gen.ts';
import { TokenRate } from './tokenRate.ts';
import { Listeners, onAbort, whenAny } from './whenAny.ts';

/** Who goes first where inferences compete for slots and batches. */
export type Priority = SendMessageRequest['priority'];

/** The limits of a pace, as plain data. */
export type PaceLimits = SetPaceRequest;

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

/** No limits. */
export const fullPace: PaceLimits = { paused: false, maxTokensPerSecond: 0, maxThreads: 0 };

/** The pace of a session: limits of all its inferences together. Those that run are told when they change. */
export class Pace {
  /** The limit of tokens per second; inferences count their tokens in it. */
  readonly rate = new TokenRate(() => this.#limits.maxTokensPerSecond);
  readonly #listeners = new Listeners();
  /** Calls a listener after each change, until the returned function is called. */
  readonly onChange = this.#listeners.add;
  #limits: PaceLimits;

  constructor(limits: PaceLimits = fullPace) {
    this.#limits = limits;
  }

  get limits(): PaceLimits {
    return this.#limits;
  }

  /** Replaces all limits. */
  set(limits: PaceLimits): void {
    if (limits.maxTokensPerSecond !== this.#limits.maxTokensPerSecond) this.rate.reset();
    this.#limits = limits;
    this.#listeners.call();
  }
}

/** Waits until a pace is not paused, or one of the signals is aborted. */
export async function untilResumed(pace: Pace | undefined, ...signals: readonly AbortSignal[]): Promise<void> {
  while (pace?.limits.paused && !signals.some(({ aborted }) => aborted))
    await whenAny(pace.onChange, ...signals.map(onAbort));
}
