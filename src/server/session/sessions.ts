import { track } from '../../base/abort.ts';
import { sameSecret } from '../../base/sameSecret.ts';
import { serverFrame } from '../../protocol/codec/frame.ts';
import { Fault } from '../../protocol/fault.ts';
import type { ResumeSessionRequest } from '../../protocol/frames.gen.ts';
import type { LabelsOf } from '../metrics/definitions.ts';
import type { ResumeFrame } from './dispatcher.ts';
import { encodeFrame } from './outgoingFrames.ts';
import { ResumableSession, type SessionConnection, type SessionsOptions } from './resumableSession.ts';

interface ResumeRefusal {
  readonly reason: LabelsOf<'turngraph_resumes_refused_total'>['reason'];
  readonly fault: Fault;
}

/** The sessions of a server: attached to a connection, or detached and waiting for a client that resumes them. */
export class Sessions implements AsyncDisposable {
  readonly options: SessionsOptions;
  readonly #all = new Map<string, ResumableSession>();
  /** By session, the one that is detached longest first: the timer that ends it. */
  readonly #detached = new Map<ResumableSession, NodeJS.Timeout>();
  /** The sessions that end, but still hold what they have used, such as storages that are kept. */
  readonly #ending = new Set<Promise<unknown>>();

  constructor(options: SessionsOptions) {
    this.options = options;
  }

  get detached(): number {
    return this.#detached.size;
  }

  /** Bytes of the frames that are kept for clients that resume. */
  get replayBytes(): number {
    return [...this.#all.values()].reduce((sum, { outgoing }) => sum + outgoing.replayBytes, 0);
  }

  open(connection: SessionConnection): ResumableSession {
    const onFailed = (): void => void this.end(session, { reason: 'it failed' });
    const session = new ResumableSession(connection, this.options, onFailed);
    this.#all.set(session.id, session);
    this.options.context.log.info({ session: session.id, subprotocol: connection.subprotocol }, 'session began');
    return session;
  }

  /**
   * Resumes a session on a new connection, whose own session is discarded; an older connection is closed. Returns the resumed
   * session, or why it is not resumed: then the new connection keeps its own session.
   * @param fresh the session that began with the connection.
   */
  resume(
    connection: SessionConnection,
    fresh: ResumableSession,
    { requestId, resumeSession: request }: ResumeFrame,
  ): ResumableSession | ResumeRefusal {
    const { context } = this.options;
    const session = this.#findResumable(fresh, request);
    if ('fault' in session) {
      context.metrics.add('turngraph_resumes_refused_total', { reason: session.reason });
      context.log.info({ session: fresh.id, reason: session.reason }, 'resume refused');
      return session;
    }
    const { lastSeq } = request;
    const replayed = session.outgoing.lastSeq - lastSeq;
    // Its client has seen nothing of it but its id.
    fresh.detach();
    void this.#dispose(fresh);
    clearTimeout(this.#detached.get(session));
    this.#detached.delete(session);
    const old = session.connection;
    if (old) {
      session.detach();
      old.takenOver();
    }
    const { requestsReceived } = session.dispatcher;
    const answer = serverFrame(requestId, 0, 'resumeSession', { replayed, requestsReceived });
    connection.write(encodeFrame(connection.subprotocol, answer));
    session.attach(connection, lastSeq);
    context.metrics.add('turngraph_sessions_resumed_total', {});
    const { subprotocol } = connection;
    context.log.info({ session: session.id, discarded: fresh.id, subprotocol, replayed }, 'session resumed');
    return session;
  }

  #findResumable(
    fresh: ResumableSession,
    { sessionId, resumeToken, lastSeq }: ResumeSessionRequest,
  ): ResumableSession | ResumeRefusal {
    const { context, graceMs } = this.options;
    if (context.closing.aborted) return { reason: 'shutting_down', fault: Fault.from(context.closing.reason) };
    if (graceMs === 0) return notResumable('unknown_session', 'this server ends a session with its connection');
    const session = this.#all.get(sessionId);
    if (!session) return notResumable('unknown_session', 'resumeSession.sessionId is no session that lives');
    if (!sameSecret(resumeToken, session.token)) {
      const message = 'resumeSession.resumeToken is not the token of this session; send that of its sessionReady';
      return { reason: 'wrong_token', fault: new Fault('UNAUTHORIZED', message) };
    }
    if (session === fresh) return notResumable('own_session', 'this connection has begun the session itself');
    const { lastSent } = session.outgoing;
    if (lastSeq > lastSent)
      return notResumable(
        'not_sent_yet',
        `resumeSession.lastSeq is ${lastSeq}, and the last frame sent is ${lastSent}`,
      );
    if (!session.outgoing.holdsAfter(lastSeq))
      return notResumable('gap_lost', `the frames after ${lastSeq} are not all kept any more (--max-replay-bytes)`);
    return session;
  }

  /** The connection of a session is closed, or closes: the session waits for a client that resumes it. */
  detach(session: ResumableSession, connection: SessionConnection, closeCode: number): void {
    if (session.connection !== connection || this.#all.get(session.id) !== session) return;
    const { context, graceMs, maxDetached } = this.options;
    session.detach();
    // While the server shuts down no session can be resumed.
    if (graceMs === 0 || context.closing.aborted) return void this.end(session, { code: closeCode });
    context.log.info({ session: session.id, code: closeCode }, 'session detached');
    const timer = setTimeout(() => void this.end(session, { reason: 'no client has resumed it' }), graceMs).unref();
    this.#detached.set(session, timer);
    if (this.#detached.size <= maxDetached) return;
    const detachedSessions = [...this.#detached.keys()];
    // A client that only connects and leaves must not end the session of a player.
    const first = detachedSessions.find(({ dispatcher }) => dispatcher.requestsReceived === 0) ?? detachedSessions[0];
    if (first) void this.end(first, { reason: 'too many sessions are detached' });
  }

  /**
   * When the server shuts down: resolves when the requests of all sessions have been answered. It ends those that are
   * detached: no client can resume them now, so nothing waits for their turns.
   */
  async drain(): Promise<void> {
    for (const session of this.#detached.keys()) void this.end(session, shutsDown);
    await Promise.all([...this.#all.values()].map(({ dispatcher }) => dispatcher.idle()));
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const session of this.#all.values()) void this.end(session, shutsDown);
    await Promise.all(this.#ending);
  }

  /** Ends a session, unless it has ended, for a reason or with a close code that is logged. */
  async end(session: ResumableSession, why: { readonly reason: string } | { readonly code: number }): Promise<void> {
    if (this.#all.get(session.id) !== session) return;
    this.options.context.log.info({ session: session.id, ...why }, 'session ended');
    await this.#dispose(session);
  }

  #dispose(session: ResumableSession): Promise<void> {
    this.#all.delete(session.id);
    clearTimeout(this.#detached.get(session));
    this.#detached.delete(session);
    const ending = session[Symbol.asyncDispose]().catch((error: unknown) => {
      const { log } = this.options.context;
      log.error({ session: session.id, err: error }, 'session was not disposed of cleanly');
    });
    return track(this.#ending, ending);
  }
}

const shutsDown = { reason: 'the server shuts down' };

const notResumable = (reason: ResumeRefusal['reason'], why: string): ResumeRefusal => ({
  reason,
  fault: new Fault('SESSION_NOT_RESUMABLE', `${why}; create agents again from saved dialogs`),
});
