import { Fault } from '../../protocol/fault.ts';
import type { ResumeSessionRequest } from '../../protocol/frames.gen.ts';
import type { LabelsOf } from '../metrics/definitions.ts';
import { sameSecret } from '../../base/sameSecret.ts';
import { serverFrame } from '../../protocol/codec/frame.ts';
import { encodeFrame } from './outgoingFrames.ts';
import type { ResumeFrame } from './dispatcher.ts';
import type { ResumableSession, SessionConnection } from './resumableSession.ts';
import type { Sessions } from './sessions.ts';

export interface ResumeRefusal {
  readonly reason: LabelsOf<'turngraph_resumes_refused_total'>['reason'];
  readonly fault: Fault;
}

/**
 * Resumes a session on a new connection, whose own session is discarded. Returns the resumed session, or why it is not
 * resumed: then the new connection keeps its own session.
 * @param fresh the session that began with the connection.
 */
export function resume(
  sessions: Sessions,
  connection: SessionConnection,
  fresh: ResumableSession,
  { requestId, resumeSession: request }: ResumeFrame,
): ResumableSession | ResumeRefusal {
  const { context } = sessions.options;
  const session = findSession(sessions, fresh, request);
  if ('fault' in session) {
    context.metrics.add('turngraph_resumes_refused_total', { reason: session.reason });
    context.log.info({ session: fresh.id, reason: session.reason }, 'resume refused');
    return session;
  }
  const { lastSeq } = request;
  const replayed = session.outgoing.lastSeq - lastSeq;
  sessions.discard(fresh);
  sessions.move(session, connection, lastSeq, () => {
    const { requestsReceived } = session.dispatcher;
    const answer = serverFrame(requestId, 0, 'resumeSession', { replayed, requestsReceived });
    connection.write(encodeFrame(connection.subprotocol, answer));
  });
  context.metrics.add('turngraph_sessions_resumed_total', {});
  const { subprotocol } = connection;
  context.log.info({ session: session.id, discarded: fresh.id, subprotocol, replayed }, 'session resumed');
  return session;
}

function findSession(
  sessions: Sessions,
  fresh: ResumableSession,
  { sessionId, resumeToken, lastSeq }: ResumeSessionRequest,
): ResumableSession | ResumeRefusal {
  const { context, graceMs } = sessions.options;
  if (context.closing.aborted) return { reason: 'shutting_down', fault: Fault.from(context.closing.reason) };
  if (graceMs === 0) return notResumable('unknown_session', 'this server ends a session with its connection');
  const session = sessions.get(sessionId);
  if (!session) return notResumable('unknown_session', 'resumeSession.sessionId is no session that lives');
  if (!sameSecret(resumeToken, session.token)) {
    const message = 'resumeSession.resumeToken is not the token of this session; send that of its sessionReady';
    return { reason: 'wrong_token', fault: new Fault('UNAUTHORIZED', message) };
  }
  if (session === fresh) return notResumable('own_session', 'this connection has begun the session itself');
  const { lastSent } = session.outgoing;
  if (lastSeq > lastSent)
    return notResumable('not_sent_yet', `resumeSession.lastSeq is ${lastSeq}, and the last frame sent is ${lastSent}`);
  if (!session.outgoing.holdsAfter(lastSeq))
    return notResumable('gap_lost', `the frames after ${lastSeq} are not all kept any more (--max-replay-bytes)`);
  return session;
}

const notResumable = (reason: ResumeRefusal['reason'], why: string): ResumeRefusal => ({
  reason,
  fault: new Fault('SESSION_NOT_RESUMABLE', `${why}; create agents again from saved dialogs`),
});
