import { closeCodes } from '../closeCodes.ts';
import { Fault } from '../fault.ts';
import { maxFrameBytes } from '../frameSize.ts';
import type { ClientFrame, ClientFrameBodies, ServerFrame, SessionReady } from '../frames.gen.ts';
import type { Codec } from '../wire/codec.ts';
import { clientFrame } from '../wire/frame.ts';
import { toFault, finalResponse, type ResponseTo, type RequestName } from './responses.ts';
import type { WebSocketLike } from './socket.ts';

/** How a connection ended: the close code and reason of its socket. */
export interface CloseInfo {
  readonly code: number;
  readonly reason: string;
}

/** How a request is waited for. */
export interface RequestOptions {
  /** Gives up waiting; the promise rejects with the signal's reason. */
  readonly signal?: AbortSignal | undefined;
  /** Milliseconds until the promise rejects with TIMEOUT; default: none. */
  readonly timeoutMs?: number | undefined;
  /** Gets the frames that come before the final answer, and that answer too. */
  readonly onFrame?: ((frame: ServerFrame) => void) | undefined;
}

interface PendingRequest {
  take(frame: ServerFrame): void;
  fail(reason: unknown): void;
}

/** Requests and their answers over one socket. */
export class Connection {
  /** The greeting of the server; rejects when the connection ends without one. */
  readonly ready: Promise<SessionReady>;
  /** How the connection ended, once it has. */
  readonly closed: Promise<CloseInfo>;
  readonly #socket: WebSocketLike;
  readonly #codec: Codec<ServerFrame, ClientFrame>;
  readonly #onUnsolicited: (frame: ServerFrame) => void;
  readonly #waiting = new Map<number, PendingRequest>();
  #lastRequestId = 0;
  #error: Fault | undefined;
  #end: Fault | undefined;

  constructor(
    socket: WebSocketLike,
    codec: Codec<ServerFrame, ClientFrame>,
    onUnasked: (frame: ServerFrame) => void = () => {},
  ) {
    this.#socket = socket;
    this.#codec = codec;
    this.#onUnsolicited = onUnasked;
    this.ready = new Promise((take, fail) => {
      this.#waiting.set(0, {
        take: (frame) => frame.body === 'sessionReady' && take(frame.sessionReady),
        fail,
      });
    });
    this.closed = new Promise((tell) => {
      socket.addEventListener('close', ({ code, reason }) => {
        this.#drop(
          code === closeCodes.connectionLost
            ? 'the connection broke off'
            : `the connection was closed with ${code} ${reason}`.trim(),
        );
        tell({ code, reason });
      });
    });
    socket.addEventListener('error', ({ message }) => {
      if (message) this.#error ??= new Fault('CONNECTION_FAILED', String(message));
    });
    socket.addEventListener('message', ({ data }) => this.#receive(data));
  }

  /** Sends a request at once and waits for its final answer; an ErrorResponse rejects as the Fault that it tells of. */
  async request<Name extends RequestName>(
    name: Name,
    fields: Partial<ClientFrameBodies[Name]> = {},
    options: RequestOptions = {},
  ): Promise<ResponseTo<Name>> {
    options.signal?.throwIfAborted();
    if (this.#end) throw this.#end;
    const requestId = ++this.#lastRequestId;
    let release = (): void => {};
    try {
      return await new Promise((resolve, reject) => {
        release = rejectOnAbort(reject, name, options);
        const take = (frame: ServerFrame): void => {
          if (frame.body === 'error') return reject(toFault(frame.error));
          options.onFrame?.(frame);
          const answer = finalResponse(name, frame);
          if (answer) resolve(answer);
        };
        const data = this.#codec.encode(clientFrame(requestId, name, fields));
        assertFits(data, name);
        this.#waiting.set(requestId, { take, fail: reject });
        this.#socket.send(data);
      });
    } finally {
      release();
      this.#waiting.delete(requestId);
    }
  }

  /** Closes the socket; what is still waited for rejects with CONNECTION_DROPPED. */
  async close(): Promise<void> {
    this.#drop('the client closed the connection');
    this.#socket.close(closeCodes.normal);
    await this.closed;
  }

  #receive(data: unknown): void {
    const decoded = this.#codec.decode(typeof data === 'string' ? data : new Uint8Array(data as ArrayBuffer));
    if (decoded.ok) return this.#deliver(decoded.frame);
    // A message that a newer server has added; nothing waits for it.
    if (decoded.fault.name === 'UNKNOWN_MESSAGE_TYPE') return;
    this.#error = decoded.fault;
    this.#drop('the server sent a frame that cannot be read');
    this.#socket.close();
  }

  #deliver(frame: ServerFrame): void {
    if (frame.requestId === 0 && frame.body !== 'sessionReady') {
      // An error that answers nothing is why the server hangs up next.
      if (frame.body === 'error') this.#error = toFault(frame.error);
      return this.#emitUnsolicited(frame);
    }
    const waiting = this.#waiting.get(frame.requestId);
    try {
      waiting?.take(frame);
    } catch (thrown) {
      waiting?.fail(thrown);
    }
  }

  // A listener that throws is its owner's mistake, and nobody waits here to be told of it.
  #emitUnsolicited(frame: ServerFrame): void {
    try {
      this.#onUnsolicited(frame);
    } catch (thrown) {
      console.error('onUnasked threw', thrown);
    }
  }

  #drop(what: string): void {
    if (this.#end) return;
    const message = this.#error ? `${what}: ${this.#error.message}` : what;
    this.#end = new Fault('CONNECTION_DROPPED', message, { cause: this.#error });
    for (const { fail } of this.#waiting.values()) fail(this.#end);
  }
}

// Rejects when the signal or the clock says so, until released.
function rejectOnAbort(reject: (reason: unknown) => void, name: RequestName, options: RequestOptions): () => void {
  const { signal, timeoutMs } = options;
  const onAbort = (): void => reject(signal?.reason);
  const late = (): void => reject(new Fault('TIMEOUT', `${name} had no answer within ${timeoutMs} ms`));
  const timer = timeoutMs === undefined ? undefined : setTimeout(late, timeoutMs);
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
