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

export interface ResumableSessionOptions {
  readonly id: string;
  /** Secret that a client needs to resume the session. */
  readonly token: string;
  readonly context: ServerContext;
  readonly requestQueues: RequestQueues;
  /** Bytes of sent frames that are kept. */
  readonly maxReplayBytes: number;
  /** Logs a request that is answered with an error. */
  readonly requestFailed: (requestId: number, fault: Fault) => void;
  /** Is called when the session cannot go on. */
  readonly onFailed: () => void;
}

/** A session with its requests and outgoing frames; it can be detached from its connection and attached to another. */
export class ResumableSession implements AsyncDisposable {
  readonly id: string;
  readonly token: string;
  /** What it sends. */
  readonly outgoing: OutgoingFrames;
  /** What it receives. */
  readonly dispatcher: RequestDispatcher;
  readonly #queue: RequestQueue;
  #connection: SessionConnection | undefined;

  constructor(connection: SessionConnection, options: ResumableSessionOptions) {
    const { id, token, context, requestQueues, maxReplayBytes, requestFailed, onFailed } = options;
    this.id = id;
    this.token = token;
    const fail = (fault: Fault): void => {
      this.#connection?.closeWithError(fault);
      onFailed();
    };
    this.outgoing = new OutgoingFrames(maxReplayBytes, (error) => {
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
        requestFailed,
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
