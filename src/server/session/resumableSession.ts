import { randomUUID } from 'node:crypto';
import { Fault } from '../../protocol/fault.ts';
import { RequestDispatcher } from './dispatcher.ts';
import { OutgoingFrames, type FrameWriter } from './outgoingFrames.ts';
import { type PausableReader, RequestQueue, type RequestQueues } from './requestQueue.ts';
import { type Reply, Session, type ServerContext } from './session.ts';

export interface SessionConnection extends FrameWriter, PausableReader {
  /** Sends the error and closes the connection: too many requests, or one that cannot be answered. */
  closeWithError(fault: Fault): void;
  /** Another connection has resumed the session: this one is not read any more, and is closed. */
  takenOver(): void;
}

export interface SessionsOptions {
  readonly context: ServerContext;
  readonly requestQueues: RequestQueues;
  /** Session ids begin with it and a dot; without a dot in it, so that a load balancer can read it. */
  readonly serverName: string;
  /** Milliseconds that a session lives without a connection; 0 = it ends with its connection. */
  readonly graceMs: number;
  /** Bytes of sent frames that are kept of a session that can be resumed. */
  readonly maxReplayBytes: number;
  /** Max detached sessions: beyond, one without a request ends, else the one that is detached longest. */
  readonly maxDetached: number;
  /** Creates the log of a session's requests that are answered with an error. */
  readonly logRequests: (session: string) => (requestId: number, fault: Fault) => void;
}

/** A session with its requests and outgoing frames; it can be detached from its connection and attached to another. */
export class ResumableSession implements AsyncDisposable {
  readonly id: string;
  /** Secret that a client needs to resume the session. */
  readonly token = randomUUID();
  /** What it sends. */
  readonly outgoing: OutgoingFrames;
  /** What it receives. */
  readonly dispatcher: RequestDispatcher;
  readonly #queue: RequestQueue;
  #connection: SessionConnection | undefined;

  /** @param onFailed is called when the session cannot go on. */
  constructor(connection: SessionConnection, options: SessionsOptions, onFailed: () => void) {
    const { serverName, context, requestQueues, graceMs, maxReplayBytes, logRequests } = options;
    const id = `${serverName}.${randomUUID()}`;
    this.id = id;
    const fail = (fault: Fault): void => {
      this.#connection?.closeWithError(fault);
      onFailed();
    };
    this.outgoing = new OutgoingFrames(graceMs > 0 ? maxReplayBytes : 0, (error) => {
      context.log.error({ session: id, err: error }, 'a kept frame could not be sent again');
      fail(Fault.from(error));
    });
    this.#queue = new RequestQueue(requestQueues, connection);
    const emit: Reply = (body, fields) => this.outgoing.emit(0, body, fields);
    const session = new Session(id, context, () => this.outgoing.backpressure(), emit);
    this.dispatcher = new RequestDispatcher(
      session,
      {
        emit: (requestId, body, fields) => this.outgoing.emit(requestId, body, fields),
        requestFailed: logRequests(id),
        closeWithError: (fault) => this.#connection?.closeWithError(fault),
        fail,
      },
      this.#queue,
    );
    this.attach(connection, 0);
  }

  /** The connection to which it is attached; undefined while it is detached. */
  get connection(): SessionConnection | undefined {
    return this.#connection;
  }

  /** Continues on a connection, which gets the frames after the one with the number `lastSeq`. */
  attach(connection: SessionConnection, lastSeq: number): void {
    this.#connection = connection;
    this.#queue.attach(connection);
    this.outgoing.attach(connection, lastSeq);
  }

  /** Continues without a connection. */
  detach(): void {
    this.#connection = undefined;
    this.#queue.detach();
    this.outgoing.detach();
  }

  /** Ends the session: cancels its turns and frees its agents. */
  [Symbol.asyncDispose](): Promise<void> {
    return this.dispatcher[Symbol.asyncDispose]();
  }
}
