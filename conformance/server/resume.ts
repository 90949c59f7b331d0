import type { ServerFrame } from '../../src/protocol/frames.gen.ts';
import { CheckedConnection } from './connection.ts';
import { expectAnswer } from './requests.ts';

/** How a session is resumed. */
export interface ResumeSettings {
  /** Default: the highest seq that came in the session. */
  readonly lastSeq?: number;
  readonly resumeToken?: string;
  /** Default: that of the codec. */
  readonly subprotocol?: string;
}

/** A new connection, and what its resumeSession was answered with. */
export interface ResumeAttempt {
  readonly connection: CheckedConnection;
  readonly answer: ServerFrame;
}

/** Resumes the session of an older connection on a new one. */
export async function tryResume(
  older: CheckedConnection,
  { lastSeq = older.trace.lastSeq, resumeToken = older.ready.resumeToken, subprotocol }: ResumeSettings = {},
): Promise<ResumeAttempt> {
  const { server, trace } = older;
  const { sessionId } = older.ready;
  const subprotocols = subprotocol ? { subprotocols: [subprotocol] } : {};
  const connection = await CheckedConnection.open(server, { ...subprotocols, sessionId });
  connection.continueAfter(older.lastRequestId);
  connection.continueSession(trace);
  if (lastSeq < trace.lastSeq) trace.rewind(lastSeq);
  return { connection, answer: await connection.request('resumeSession', { sessionId, resumeToken, lastSeq }) };
}

/** Resumes the session of an older connection. @throws ConformanceFailure when that is refused. */
export async function resumeSession(
  older: CheckedConnection,
  settings: ResumeSettings = {},
): Promise<{ readonly connection: CheckedConnection; readonly replayed: number; readonly requestsReceived: number }> {
  const { connection, answer } = await tryResume(older, settings);
  const { resumeSession: response } = expectAnswer(answer, 'resumeSession', 'resumeSession');
  return { connection, ...response };
}

/** The frames of a session that a client has received. */
export const receivedUpTo = (connection: CheckedConnection, seq: number): readonly ServerFrame[] =>
  connection.frames.filter((frame) => isCounted(frame) && frame.seq <= seq);

const isCounted = ({ body, seq }: ServerFrame): boolean =>
  body !== 'sessionReady' && body !== 'resumeSession' && seq > 0;
