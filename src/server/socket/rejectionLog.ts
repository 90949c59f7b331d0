import { graphFaultsIn } from '../../graph/compile/document.ts';
import { type Fault, truncateMessage } from '../../protocol/fault.ts';
import type { CodeName } from '../../protocol/frames.gen.ts';
import type { Log } from '../../base/log.ts';
import { rateLimit } from './socketLimits.ts';

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
    if (isAllowed()) {
      log.info({ ...fields, ...(suppressed > 0 && { suppressed }) }, message);
      suppressed = 0;
    } else suppressed++;
  };
}

const frameErrors = new Set<CodeName>(['MALFORMED_MESSAGE', 'UNKNOWN_MESSAGE_TYPE', 'FRAME_TOO_LARGE']);
const maxPointers = 3;

/** Logs refused requests, rate-limited: code, name, pointers. Messages quote users, so only at level debug. */
export const createRequestLog =
  (session: string, log: Log, logRejection: LogRejection) =>
  (requestId: number, fault: Fault): void => {
    const { code, name, message } = fault;
    const fields = { session, requestId, code, error: name };
    log.debug({ ...fields, reason: message }, 'request refused');
    const pointers = graphFaultsIn(fault).map(({ pointer }) => pointer);
    const places = truncateMessage(pointers.slice(0, maxPointers).join(' '));
    const event = frameErrors.has(name) ? 'frame rejected' : 'request rejected';
    logRejection({ ...fields, ...(places !== '' && { places }) }, event);
  };
