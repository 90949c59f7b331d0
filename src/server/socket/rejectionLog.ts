import type { Log } from '../../base/log.ts';
import { rateLimit } from './rateLimit.ts';

/** Logs one rejection: what was rejected and why. Neither may hold user text or a token. */
export type LogRejection = (fields: Readonly<Record<string, string | number | undefined>>, message: string) => void;

const linesPerSecond = 5;

/**
 * Log of rejected handshakes, connections and frames, at level info. It is the only place with the reason of a failed
 * handshake: a browser reports close code 1006 for all of them. Rate-limited: `suppressed` counts the lines left out
 * before this one.
 */
export function createRejectionLog(log: Log, isAllowed = rateLimit(linesPerSecond)): LogRejection {
  let suppressed = 0;
  return (fields, message) => {
    if (!isAllowed()) {
      suppressed++;
      return;
    }
    log.info({ ...fields, ...(suppressed > 0 && { suppressed }) }, message);
    suppressed = 0;
  };
}
