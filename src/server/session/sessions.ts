import { randomUUID } from 'node:crypto';
import type { Fault } from '../../protocol/fault.ts';
import { ResumableSession, type ResumableSessionOptions, type SessionConnection } from './resumableSession.ts';

export interface SessionsOptions extends Pick<ResumableSessionOptions, 'context' | 'requestQueues' | 'maxReplayBytes'> {
  /** Session ids begin with it and a dot; without a dot in it, so that a load balancer can read it. */
  readonly serverName: string;
  /** Milliseconds that a session lives without a connection; 0 = it ends with its connection. */
  readonly graceMs: number;
  /** Max detached sessions: beyond, one without a request ends, else the one that is detached longest. */
  readonly maxDetached: number;
  /** Creates the log of a session's refused requests. */
  readonly logRequests: (session: string) => (requestId: number, fault: Fault) => void;
}

/** The sessions of a server: attached to a connection, or detached and waiting for a client that resumes them. */
export class Sessions implements AsyncDisposable {
  readonly options: SessionsOptions;
  readonly #all = new Map<string, ResumableSession>();
  /** By session, the one that is detached longest first: the timer that ends it. */
  readonly #detached = new Map<ResumableSession, NodeJS.Timeout>();

  constructor(options: SessionsOptions) {
    this.options = options;
  }

  /** How many sessions are detached. */
  get detached(): number {
    return this.#detached.size;
  }

  /** Bytes of the frames that are kept for clients that resume. */
  get replayBytes(): number {
    return [...this.#all.values()].reduce((sum, { outgoing }) => sum + outgoing.replayBytes, 0);
  }

  /** The session with this id, while it lives. */
  get(id: string): ResumableSession | undefined {
    return this.#all.get(id);
  }

  /** Begins a session on a new connection. */
  open(connection: SessionConnection): ResumableSession {
    const { serverName, context, requestQueues, graceMs, maxReplayBytes, logRequests } = this.options;
    const id = `${serverName}.${randomUUID()}`;
    const session = new ResumableSession(connection, {
      id,
      token: randomUUID(),
      context,
      requestQueues,
      maxReplayBytes: graceMs > 0 ? maxReplayBytes : 0,
      requestFailed: logRequests(id),
      onFailed: () => void this.end(session, { reason: 'it failed' }),
    });
    this.#all.set(id, session);
    context.log.info({ session: id, subprotocol: connection.subprotocol }, 'session began');
    return session;
  }

  /**
   * Continues a session on another connection: an older one is closed. The frames after the one with the number
   * `lastSeq` are sent to it.
   * @param beforeFrames is called before the first of them, when the old connection is not read any more.
   */
  move(session: ResumableSession, connection: SessionConnection, lastSeq: number, beforeFrames: () => void): void {
    clearTimeout(this.#detached.get(session));
    this.#detached.delete(session);
    const old = session.connection;
    if (old) {
      session.detach();
      old.takenOver();
    }
    beforeFrames();
    session.attach(connection, lastSeq);
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

  /** Ends a session of which its client has seen nothing but its id. */
  discard(session: ResumableSession): void {
    session.detach();
    void this.#dispose(session);
  }

  /** Ends the detached sessions, for a reason that is logged. */
  async endDetached(reason: string): Promise<void> {
    await Promise.all([...this.#detached.keys()].map((session) => this.end(session, { reason })));
  }

  /** Resolves when the requests of all sessions have been answered. */
  async idle(): Promise<void> {
    await Promise.all([...this.#all.values()].map(({ dispatcher }) => dispatcher.idle()));
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await Promise.all([...this.#all.values()].map((session) => this.end(session, { reason: 'the server shuts down' })));
  }

  /** Ends a session, unless it has ended, for a reason or with a close code that is logged. */
  async end(session: ResumableSession, why: { readonly reason: string } | { readonly code: number }): Promise<void> {
    if (this.#all.get(session.id) !== session) return;
    this.options.context.log.info({ session: session.id, ...why }, 'session ended');
    await this.#dispose(session);
  }

  async #dispose(session: ResumableSession): Promise<void> {
    this.#all.delete(session.id);
    clearTimeout(this.#detached.get(session));
    this.#detached.delete(session);
    try {
      await session[Symbol.asyncDispose]();
    } catch (error) {
      const { log } = this.options.context;
      log.error({ session: session.id, err: error }, 'session was not disposed of cleanly');
    }
  }
}
