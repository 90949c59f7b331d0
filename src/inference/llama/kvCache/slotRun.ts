import type { EvaluationPriority } from 'node-llama-cpp';
import { afterMs, onAbort, onceAny } from '../../../base/events.ts';
import type { Pace, Priority, TokenThrottle } from '../../contract/pace.ts';
import type { BackgroundGate } from '../batching/backgroundGate.ts';
import type { ThreadCap } from '../threads/batchThreads.ts';
import { rankOf } from '../../decoding/slotQueue.ts';
import type { Slot, SlotPool } from './slots.ts';

/** A slot that was given because of a long wait is not given up before so many steps. */
const agedSteps = 16;
/** So many steps at most are taken first where each run would begin again: see `losses`. */
const maxFirstSteps = 8;

const evaluationPriorities = {
  BACKGROUND: 1,
  NORMAL: 3,
  URGENT: 5,
} as const satisfies Readonly<Record<Priority, EvaluationPriority>>;

export interface SlotRunOptions {
  readonly slot: Slot;
  readonly slots: SlotPool;
  /** Tokens that a slot may have at most. */
  readonly contextSize: number;
  readonly gate: BackgroundGate;
  readonly threadCap: ThreadCap;
  readonly priority: Priority;
  readonly pace: Pace | undefined;
  readonly throttle: TokenThrottle | undefined;
  readonly signals: readonly AbortSignal[];
}

/**
 * A run of an inference in a slot: when it may take its next step (a token, or a chunk of the prompt), and when it has to
 * give the slot back.
 *
 * | the run                               | gives the slot back                                  |
 * | ------------------------------------- | ---------------------------------------------------- |
 * | its session is paused                 | at once                                              |
 * | the context is made anew              | at once                                              |
 * | is full, and may have a longer slot   | at once                                              |
 * | waits for the time of its next token  | when any other inference waits for a slot            |
 * | is in the background                  | when one of a higher priority waits for a slot       |
 */
export class SlotRun implements Disposable {
  readonly slot: Slot;
  /** How often what was evaluated has been lost. In the background it takes as many steps before it gives up the slot. */
  losses = 0;
  readonly #options: SlotRunOptions;
  /** When it may take its first step in the background. */
  readonly #startAt: number;
  #isPausing = false;
  #isReading = true;
  #isClosingGate = false;
  #steps = 0;

  constructor(options: SlotRunOptions) {
    this.#options = options;
    this.slot = options.slot;
    this.#startAt = options.gate.startAt;
    this.#setRunning(true);
  }

  /** Its place in a batch. */
  get evaluationPriority(): EvaluationPriority {
    return evaluationPriorities[this.#options.priority];
  }

  /** Whether others must not wait long for the end of a step: inferences, or the frames of a game. */
  get takesShortSteps(): boolean {
    const { priority, pace } = this.#options;
    return priority === 'BACKGROUND' || (pace?.limits.maxShare ?? 0) > 0;
  }

  /** Whether to give the slot back now and continue later. Once it is so, it remains so. */
  get shouldPause(): boolean {
    return (this.#isPausing ||= this.#hasToPause);
  }

  /** Whether so many tokens need a longer slot: it is given back, and acquired again when it is longer. */
  isFull(tokens: number): boolean {
    const { contextSize } = this.slot.cache;
    return tokens >= contextSize && contextSize < this.#options.contextSize;
  }

  /** Milliseconds until the next token may be computed; 0 = now. */
  get tokenWaitMs(): number {
    return Math.max(this.#stepWaitMs, this.#options.throttle?.waitMs() ?? 0);
  }

  /** Waits until the next token may be computed. It may end early: ask again. */
  async wait(ms: number): Promise<void> {
    const { pace, slots, gate, signals } = this.#options;
    this.#setRunning(false);
    const events = [afterMs(ms), slots.onWait, gate.onOpen, ...signals.map(onAbort)];
    await onceAny(...events, ...(pace ? [pace.onChange] : []));
    this.#setRunning(true);
  }

  /** Takes a step. One in the background waits for its turn first, and is not taken if the slot has to be given back. */
  async step<T>(work: () => Promise<T>): Promise<T | undefined> {
    await this.untilTurn();
    return this.shouldPause || this.#isAborted ? undefined : this.takeStep(work);
  }

  /** Waits until a step that computes no token of a text may be taken, or the slot has to be given back. */
  async untilTurn(): Promise<void> {
    for (let ms = this.#stepWaitMs; ms > 0 && !this.shouldPause && !this.#isAborted; ms = this.#stepWaitMs)
      await this.wait(ms);
  }

  async takeStep<T>(work: () => Promise<T>): Promise<T> {
    this.#steps++;
    const { gate, threadCap, pace } = this.#options;
    const isGated = this.#rank === rankOf('BACKGROUND');
    const start = performance.now();
    threadCap.enter(this, pace);
    if (isGated) gate.begin(start);
    try {
      return await work();
    } finally {
      threadCap.leave(this);
      const ms = performance.now() - start;
      pace?.endStep(ms);
      if (isGated) gate.end(ms);
    }
  }

  /** The prompt has been evaluated. Unless it is urgent, those in the background compute again. */
  onPromptEvaluated(): void {
    this.#isReading = false;
    this.#setRunning(true);
  }

  [Symbol.dispose](): void {
    this.#setRunning(false);
    if (this.#options.priority !== 'BACKGROUND') this.#options.gate.ended();
  }

  get #rank(): number {
    const { slot, priority } = this.#options;
    return this.#steps < agedSteps ? Math.max(slot.rank, rankOf(priority)) : rankOf(priority);
  }

  get #stepWaitMs(): number {
    const { pace, gate } = this.#options;
    const gateMs = Math.max(gate.waitMs(), this.#startAt - performance.now());
    return Math.max(pace?.stepWaitMs() ?? 0, this.#rank > rankOf('BACKGROUND') ? 0 : gateMs);
  }

  get #hasToPause(): boolean {
    const { slots, pace, throttle } = this.#options;
    if (pace?.limits.paused || slots.isVacating) return true;
    if ((throttle?.waitMs() ?? 0) > 0 && slots.isWanted(-1)) return true;
    if (this.#steps < Math.min(this.losses, maxFirstSteps)) return false;
    return this.#rank === rankOf('BACKGROUND') && slots.isWanted(this.#rank);
  }

  get #isAborted(): boolean {
    return this.#options.signals.some(({ aborted }) => aborted);
  }

  #setRunning(isRunning: boolean): void {
    const { gate, priority } = this.#options;
    const closesGate = isRunning && (priority === 'URGENT' || (priority === 'NORMAL' && this.#isReading));
    if (closesGate === this.#isClosingGate) return;
    this.#isClosingGate = closesGate;
    if (closesGate) gate.close();
    else gate.open();
  }
}
