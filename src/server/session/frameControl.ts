import type { Pace } from '../../inference/contract/pace.ts';
import { checkFrameTimes } from '../../protocol/frameTimes.ts';

/** Frames vary: a game that waits for its display is a little over its target half of the time. */
const maxLateness = 1.05;
const [minShare, increase, decrease] = [0.05, 0.05, 0.5];
/** Reports that come sooner after the last one that counted are ignored. Clients send one a second. */
const minIntervalMs = 500;
const expiryMs = 5000;

/**
 * Leaves the machine to a game: chooses the share of a session by the frame times that its client reports, with additive
 * increase and multiplicative decrease (AIMD). It halves while frames are late, and grows slowly while they are not.
 */
export class FrameControl implements Disposable {
  readonly #pace: Pace;
  #share = 1;
  #countedAt = -Infinity;
  #expiry: NodeJS.Timeout | undefined;

  constructor(pace: Pace) {
    this.#pace = pace;
  }

  /**
   * Frames took so long, and may take so long. Without a report for some seconds there is no limit any more.
   * @throws Fault MALFORMED_MESSAGE
   */
  report(ms: number, targetMs: number, now = performance.now()): void {
    checkFrameTimes(ms, targetMs);
    if (now - this.#countedAt < minIntervalMs) return;
    this.#countedAt = now;
    const isLate = ms > targetMs * maxLateness;
    this.#limit(isLate ? Math.max(minShare, this.#share * decrease) : Math.min(1, this.#share + increase));
    clearTimeout(this.#expiry);
    this.#expiry = setTimeout(() => this.#limit(1), expiryMs).unref();
  }

  /** The session has ended. */
  [Symbol.dispose](): void {
    clearTimeout(this.#expiry);
  }

  #limit(share: number): void {
    if (share === this.#share) return;
    this.#share = share;
    this.#pace.set({ maxShare: share === 1 ? 0 : share });
  }
}
