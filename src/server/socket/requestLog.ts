import { truncateMessage, type Fault } from '../../protocol/fault.ts';
import type { CodeName } from '../../protocol/frames.gen.ts';
import type { Log } from '../../base/log.ts';
import type { LogRejection } from './rejectionLog.ts';

const frameErrors = new Set<CodeName>(['MALFORMED_MESSAGE', 'UNKNOWN_MESSAGE_TYPE', 'FRAME_TOO_LARGE']);
const maxPointers = 3;

/**
 * Creates the log of a session's refused requests: code, name, and for a graph the JSON pointers of its first faults, rate-limited.
 * The message may quote what the user wrote, so it is logged at level debug only.
 */
export const createRequestLog =
  (session: string, log: Log, logRejection: LogRejection) =>
  (requestId: number, { code, name, message, detail }: Fault): void => {
    const fields = { session, requestId, code, error: name };
    log.debug({ ...fields, reason: message }, 'request refused');
    const places = pointersIn(detail);
    const event = frameErrors.has(name) ? 'frame rejected' : 'request rejected';
    logRejection({ ...fields, ...(places !== '' && { places }) }, event);
  };

function pointersIn(detail: string): string {
  const faults = parseList(detail) as readonly { readonly pointer?: unknown }[];
  return truncateMessage(
    faults
      .slice(0, maxPointers)
      .map(({ pointer }) => String(pointer ?? ''))
      .join(' '),
  );
}

// An extension can put any text into the detail of its errors.
function parseList(text: string): readonly unknown[] {
  try {
    const value: unknown = JSON.parse(text);
    return Array.isArray(value) ? value : [];
  } catch {
    return [];
  }
}
