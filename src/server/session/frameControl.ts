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
export function frameControl(pace: Pace) {
  let [share, countedAt] = [1, -Infinity];
  let expiry: NodeJS.Timeout | undefined;
  const limit = (next: number): void => {
    if (next === share) return;
    share = next;
    pace.set({ maxShare: share === 1 ? 0 : share });
  };
  return {
    /**
     * Frames took so long, and may take so long. Without a report for some seconds there is no limit any more.
     * @throws Fault MALFORMED_MESSAGE
     */
    report(ms: number, targetMs: number, now = performance.now()): void {
      checkFrameTimes(ms, targetMs);
      if (now - countedAt < minIntervalMs) return;
      countedAt = now;
      const isLate = ms > targetMs * maxLateness;
      limit(isLate ? Math.max(minShare, share * decrease) : Math.min(1, share + increase));
      clearTimeout(expiry);
      expiry = setTimeout(() => limit(1), expiryMs).unref();
    },
    /** The session has ended. */
    [Symbol.dispose]: (): void => clearTimeout(expiry),
  };
}
