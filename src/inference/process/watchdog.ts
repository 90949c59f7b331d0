import type { BatchProgress } from './messages.ts';

export interface WatchdogLimits {
  /** Milliseconds between two checks. Time counts by checks, so that a suspended machine is no hang. */
  readonly tickMs: number;
  /** Shortest time without progress that is a hang, in milliseconds. */
  readonly minHangMs: number;
  /** The same as long as the speed of the model is not known: the weights may still have to be read from disk. */
  readonly unmeasuredHangMs: number;
}

export const defaultWatchdogLimits: WatchdogLimits = { tickMs: 1000, minHangMs: 10_000, unmeasuredHangMs: 120_000 };

/** A hang is this many times the duration of a prefill chunk, if that is longer than `minHangMs`. */
const chunksUntilHang = 20;

/**
 * Recognizes an engine process that hangs while requests of it are pending: nothing is heard of it (it is stopped, or its
 * event loop is blocked), or its heartbeats say that a batch is evaluated or a model loaded without any progress (native
 * code hangs; it runs off the event loop).
 */
export class Watchdog {
  readonly #limits: WatchdogLimits;
  readonly #onHang: (seconds: number) => void;
  #timer: NodeJS.Timeout | undefined;
  #endedBatches: number | undefined;
  #silentMs = 0;
  #stuckMs = 0;
  #chunkMs: number | undefined;
  /** Whether a model or the library is being loaded, whose progress no heartbeat reports. */
  isLoading = false;

  /** @param onHang is called once, with the seconds without progress. */
  constructor(limits: WatchdogLimits, onHang: (seconds: number) => void) {
    this.#limits = limits;
    this.#onHang = onHang;
  }

  /** A request is pending. */
  start(): void {
    if (this.#timer) return;
    this.#silentMs = 0;
    this.#stuckMs = 0;
    this.#timer = setInterval(() => this.#check(), this.#limits.tickMs).unref();
  }

  /** No request is pending any more, or the process has ended. */
  stop(): void {
    clearInterval(this.#timer);
    this.#timer = undefined;
  }

  /** The process has sent something. */
  heard(): void {
    this.#silentMs = 0;
  }

  progressed(): void {
    this.#stuckMs = 0;
  }

  /** A thread that nothing blocks sent a sign of life. It counts in a load: a slow disk blocks the event loop. */
  guardHeard(): void {
    if (this.isLoading) this.heard();
  }

  onHeartbeat(batches: BatchProgress | undefined): void {
    const isStuck = batches?.running === true && batches.ended === this.#endedBatches;
    this.#endedBatches = batches?.ended;
    this.#chunkMs = batches?.chunkMs;
    if (!isStuck && !this.isLoading) this.progressed();
  }

  #check(): void {
    const { tickMs, minHangMs, unmeasuredHangMs } = this.#limits;
    this.#silentMs += tickMs;
    this.#stuckMs += tickMs;
    const limitMs = Math.max(minHangMs, chunksUntilHang * (this.#chunkMs ?? 0));
    const stuckLimitMs = this.isLoading || this.#chunkMs === undefined ? unmeasuredHangMs : limitMs;
    const silentLimitMs = this.isLoading ? Math.min(limitMs, unmeasuredHangMs) : limitMs;
    if (this.#silentMs < silentLimitMs && this.#stuckMs < stuckLimitMs) return;
    this.stop();
    this.#onHang(Math.round(Math.max(this.#silentMs, this.#stuckMs) / 1000));
  }
}
