import { closeCodes } from '../closeCodes.ts';
import { Fault } from '../fault.ts';
import { maxFrameBytes } from '../frameSize.ts';
import type { ClientFrame, ClientFrameBodies, ServerFrame, SessionReady } from '../frames.gen.ts';
import type { Codec } from '../wire/codec.ts';
import { requestFrame } from '../wire/requestFrame.ts';
import { toFault, finalResponse, type ResponseTo, type RequestName } from './responses.ts';
import type { WebSocketLike } from './socket.ts';

// `WebSocket.CLOSING`; `CLOSED` is greater.
const closing = 2;

/** How a connection ended: the close code and reason of its socket. */
export interface CloseInfo {
  readonly code: number;
  readonly reason: string;
}

/** Options of a request. */
export interface RequestOptions {
  /** Stops waiting; the promise rejects with the signal's reason. The server still handles the request. */
  readonly signal?: AbortSignal | undefined;
  /** Milliseconds until the promise rejects with TIMEOUT; default: none. */
  readonly timeoutMs?: number | undefined;
  /** Called with each frame that answers the request, the final response included. */
  readonly onFrame?: ((frame: ServerFrame) => void) | undefined;
}

interface PendingRequest {
  receive(frame: ServerFrame): void;
  fail(reason: unknown): void;
}

/** Multiplexes requests and their responses, matched by request id, over one WebSocket. */
export class Connection {
  /** The first frame of the server. Rejects with CONNECTION_DROPPED when the connection ends before it. */
  readonly ready: Promise<SessionReady>;
  /** Resolves when the connection has ended. Never rejects. */
  readonly closed: Promise<CloseInfo>;
  readonly #socket: WebSocketLike;
  readonly #codec: Codec<ServerFrame, ClientFrame>;
  readonly #onUnsolicited: (frame: ServerFrame) => void;
  /** By request id; 0 waits for `sessionReady`. */
  readonly #pending = new Map<number, PendingRequest>();
  #lastRequestId = 0;
  /** The error that explains why the connection ends. */
  #error: Fault | undefined;
  /** What requests reject with once the connection has ended. */
  #dropped: Fault | undefined;

  constructor(
    socket: WebSocketLike,
    codec: Codec<ServerFrame, ClientFrame>,
    onUnsolicited: (frame: ServerFrame) => void = () => {},
  ) {
    this.#socket = socket;
    this.#codec = codec;
    this.#onUnsolicited = onUnsolicited;
    this.ready = new Promise((resolve, reject) => {
      this.#pending.set(0, {
        receive: (frame) => frame.body === 'sessionReady' && resolve(frame.sessionReady),
        fail: reject,
      });
    });
    this.closed = new Promise((resolve) => {
      socket.addEventListener('close', ({ code, reason }) => {
        this.#drop(
          code === closeCodes.connectionLost
            ? `the connection broke off (${code})`
            : `the connection was closed with ${code} ${reason}`.trim(),
        );
        resolve({ code, reason });
      });
    });
    socket.addEventListener('error', ({ message }) => {
      if (message) this.#error ??= new Fault('CONNECTION_FAILED', String(message));
    });
    socket.addEventListener('message', ({ data }) => this.#receive(data));
  }

  /**
   * Sends a request and waits for its final response. Nothing is sent when a field has the wrong type.
   * @throws Fault the error of an ErrorResponse, MALFORMED_MESSAGE, FRAME_TOO_LARGE, TIMEOUT, CONNECTION_DROPPED
   */
  async request<Name extends RequestName>(
    name: Name,
    fields: Partial<ClientFrameBodies[Name]> = {},
    options: RequestOptions = {},
  ): Promise<ResponseTo<Name>> {
    options.signal?.throwIfAborted();
    const ended = this.#ended();
    if (ended) throw ended;
    const requestId = ++this.#lastRequestId;
    const data = this.#codec.encode(requestFrame(requestId, name, fields));
    assertFits(data, name);
    let release = (): void => {};
    try {
      return await new Promise((resolve, reject) => {
        release = rejectOnAbort(reject, name, options);
        const receive = (frame: ServerFrame): void => {
          if (frame.body === 'error') return reject(toFault(frame.error));
          options.onFrame?.(frame);
          const response = finalResponse(name, frame);
          if (response) resolve(response);
        };
        this.#pending.set(requestId, { receive, fail: reject });
        this.#socket.send(data);
      });
    } finally {
      release();
      this.#pending.delete(requestId);
    }
  }

  /** Closes the socket. Pending requests reject with CONNECTION_DROPPED. */
  async close(): Promise<void> {
    this.#drop('the client closed the connection');
    this.#socket.close(closeCodes.normal);
    await this.closed;
  }

  #receive(data: unknown): void {
    const decoded = this.#codec.decode(typeof data === 'string' ? data : new Uint8Array(data as ArrayBuffer));
    if (decoded.ok) return this.#deliver(decoded.frame);
    // A message of a newer server, which no request of this client waits for.
    if (decoded.fault.name === 'UNKNOWN_MESSAGE_TYPE') return;
    this.#error = decoded.fault;
    this.#drop('the server sent a frame that cannot be read');
    this.#socket.close();
  }

  #deliver(frame: ServerFrame): void {
    if (frame.requestId === 0 && frame.body !== 'sessionReady') {
      // An error that answers no request is why the server closes the connection next.
      if (frame.body === 'error') this.#error = toFault(frame.error);
      return this.#emitUnsolicited(frame);
    }
    const request = this.#pending.get(frame.requestId);
    try {
      request?.receive(frame);
    } catch (thrown) {
      request?.fail(thrown);
    }
  }

  // An exception of this callback has no promise to reject, so it is logged.
  #emitUnsolicited(frame: ServerFrame): void {
    try {
      this.#onUnsolicited(frame);
    } catch (thrown) {
      console.error('onUnsolicited threw', thrown);
    }
  }

  // What a request rejects with when the connection has ended. A socket that is closing sends nothing more, but its
  // close event may be far away.
  #ended(): Fault | undefined {
    if (this.#dropped || this.#socket.readyState < closing) return this.#dropped;
    return this.#droppedBy('the connection is closing');
  }

  #drop(event: string): void {
    if (this.#dropped) return;
    this.#dropped = this.#droppedBy(event);
    for (const { fail } of this.#pending.values()) fail(this.#dropped);
  }

  #droppedBy(event: string): Fault {
    const message = this.#error ? `${event}: ${this.#error.message}` : event;
    return new Fault('CONNECTION_DROPPED', message, { cause: this.#error });
  }
}

// Rejects when the signal is aborted or the timeout expires; the returned function releases both.
function rejectOnAbort(reject: (reason: unknown) => void, name: RequestName, options: RequestOptions): () => void {
  const { signal, timeoutMs } = options;
  const onAbort = (): void => reject(signal?.reason);
  const onTimeout = (): void => reject(new Fault('TIMEOUT', `${name} had no answer within ${timeoutMs} ms`));
  const timer = timeoutMs === undefined ? undefined : setTimeout(onTimeout, timeoutMs);
  signal?.addEventListener('abort', onAbort, { once: true });
  return () => {
    clearTimeout(timer);
    signal?.removeEventListener('abort', onAbort);
  };
}

function assertFits(data: string | Uint8Array, name: RequestName): void {
  const bytes = typeof data === 'string' ? new TextEncoder().encode(data).length : data.length;
  if (bytes <= maxFrameBytes) return;
  throw new Fault(
    'FRAME_TOO_LARGE',
    `${name} has ${bytes} bytes, and a frame may have ${maxFrameBytes}; send less at a time`,
  );
}
