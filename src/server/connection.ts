import { randomUUID } from 'node:crypto';
import { WebSocket, type RawData } from 'ws';
import { closeCodes } from '../closeCodes.ts';
import { Fault } from '../fault.ts';
import { maxFrameBytes } from '../frameSize.ts';
import type { ClientFrame, ServerFrame } from '../frames.gen.ts';
import { countError, type Metrics } from '../metrics/metrics.ts';
import { metricDefinitions, type LabelsOf } from '../metrics/definitions.ts';
import type { Admission } from '../eventLoop.ts';
import { RequestDispatcher } from '../session/dispatcher.ts';
import type { RequestQueues } from '../session/requestQueue.ts';
import { Session, type ServerContext } from '../session/session.ts';
import { serverCodecs, type Codec, type Subprotocol } from '../wire/codec.ts';
import { serverFrame } from '../wire/frame.ts';
import { version } from '../version.ts';
import type { LogRejection } from './rejectionLog.ts';
import { createRequestLog } from './requestLog.ts';
import { SendBuffer, type SendBufferLimits } from './backpressure.ts';

const protocolVersion = 1;
const closeTimeoutMs = 2_000;

/**
 * The server's WebSocket class: calls `onTooLarge` before ws closes the connection over a frame of more than
 * `maxFrameBytes`.
 */
export class ClientSocket extends WebSocket {
  onTooLarge: (() => void) | undefined;

  override close(code?: number, reason?: string | Buffer): void {
    if (code === closeCodes.frameTooLarge) this.onTooLarge?.();
    super.close(code, reason);
  }
}

/** Options of a connection. */
export interface ConnectionOptions {
  readonly subprotocol: Subprotocol;
  readonly context: ServerContext;
  /** Milliseconds between pings; a connection without a pong in between is terminated. */
  readonly pingMs: number;
  readonly sendBuffer: SendBufferLimits;
  readonly requestQueues: RequestQueues;
  readonly admission: Admission;
  /** Called before each frame is written, to coalesce writes. */
  readonly coalesce: () => void;
  /** Logs a request or frame that is refused. */
  readonly logRejection: LogRejection;
}

/** One client connection: a WebSocket, its codec, its send buffer and its session, which ends with the connection. */
export class ClientConnection implements AsyncDisposable {
  readonly #socket: ClientSocket;
  readonly #codec: Codec<ClientFrame, ServerFrame>;
  readonly #sendBuffer: SendBuffer;
  readonly #coalesce: () => void;
  readonly #dispatcher: RequestDispatcher;
  readonly #ping: NodeJS.Timeout;
  readonly #metrics: Metrics;
  #alive = true;
  #paused = false;
  #closing = false;
  #disposal: Promise<void> | undefined;

  constructor(
    socket: ClientSocket,
    { subprotocol, context, pingMs, sendBuffer, requestQueues, admission, coalesce, logRejection }: ConnectionOptions,
  ) {
    this.#socket = socket;
    this.#coalesce = coalesce;
    this.#codec = serverCodecs[subprotocol];
    const slowReader = new Fault('LIMIT_EXCEEDED', 'the client reads too slowly; read what is sent, or ask for less');
    this.#metrics = context.metrics;
    this.#metrics.add('turngraph_connections_total', { subprotocol });
    this.#sendBuffer = new SendBuffer(
      sendBuffer,
      () => this.#closeWithError(slowReader, closeCodes.slowReader),
      () => this.#metrics.add('turngraph_slow_reader_pauses_total', {}),
    );
    const id = randomUUID();
    const requestFailed = createRequestLog(id, context.log, logRejection);
    const queue = requestQueues.open({ pause: () => this.#pause(), resume: () => this.#resume() });
    const sink = {
      send: (frame: ServerFrame): void => this.#send(frame),
      requestFailed,
      closeWithError: (fault: Fault): void => this.#closeWithError(fault, closeCodes.limitExceeded),
    };
    const session = new Session(id, context, () => this.#sendBuffer.drained());
    this.#dispatcher = new RequestDispatcher(session, sink, { queue, admission });
    const tooLarge = new Fault('FRAME_TOO_LARGE', `a frame may have ${maxFrameBytes} bytes; send less at a time`);
    socket.onTooLarge = () => {
      requestFailed(0, tooLarge);
      this.#sendError(tooLarge);
    };
    socket.on('message', (data: RawData, isBinary: boolean) => this.#closing || this.#receive(data, isBinary));
    socket.on('pong', () => (this.#alive = true));
    // ws emits this before it closes the socket for a protocol error.
    socket.on('error', (error) => context.log.debug({ session: id, err: error }, 'socket failed'));
    socket.on('close', (code) => {
      context.log.info({ session: id, code }, 'session ended');
      this.#metrics.add('turngraph_connections_closed_total', { code: closeLabel(code) });
      this[Symbol.asyncDispose]().catch((error: unknown) =>
        context.log.error({ session: id, err: error }, 'session was not disposed of cleanly'),
      );
    });
    this.#ping = setInterval(() => this.#checkAlive(), pingMs).unref();
    context.log.info({ session: id, subprotocol }, 'session began');
    const ready = { protocolVersion, sessionId: id, resumeToken: randomUUID(), serverVersion: version };
    this.#send(serverFrame(0, 0, 'sessionReady', ready));
  }

  /** Unsent bytes and backpressure, for the metrics. */
  get output(): Pick<SendBuffer, 'unsent' | 'drained'> {
    return this.#sendBuffer;
  }

  /** Resolves when all requests have been answered. */
  idle(): Promise<void> {
    return this.#dispatcher.idle();
  }

  /** Ends the session, cancelling its turns, and then closes the socket. */
  async close(code: number, reason: string): Promise<void> {
    await this[Symbol.asyncDispose]();
    this.#closing = true;
    closeSocket(this.#socket, code, reason);
  }

  [Symbol.asyncDispose](): Promise<void> {
    this.#disposal ??= this.#dispose();
    return this.#disposal;
  }

  async #dispose(): Promise<void> {
    clearInterval(this.#ping);
    this.#sendBuffer.end();
    await this.#dispatcher[Symbol.asyncDispose]();
  }

  #receive(data: RawData, isBinary: boolean): void {
    const bytes = ownBytes(data);
    // The JSON codec gets text as bytes: ws does not validate UTF-8 here, so that the codec can answer with an error.
    const asBytes = isBinary || !this.#codec.binary;
    this.#dispatcher.receive({
      bytes: bytes.length,
      decode: () => this.#codec.decode(asBytes ? bytes : bytes.toString('utf8')),
    });
  }

  #pause(): void {
    this.#paused = true;
    this.#socket.pause();
  }

  #resume(): void {
    this.#paused = false;
    // The pong may be behind what was not read: begin a new period.
    this.#alive = true;
    this.#socket.resume();
  }

  #send(frame: ServerFrame): void {
    if (this.#socket.readyState !== WebSocket.OPEN) return;
    const data = this.#codec.encode(frame);
    this.#coalesce();
    this.#socket.send(data, this.#sendBuffer.track(typeof data === 'string' ? Buffer.byteLength(data) : data.length));
  }

  #sendError({ code, name, message, detail }: Fault): void {
    countError(this.#metrics, 'connection', { code, name });
    this.#send(serverFrame(0, 0, 'error', { code, name, message, detail }));
  }

  #closeWithError(fault: Fault, closeCode: number): void {
    this.#sendError(fault);
    this.#closing = true;
    closeSocket(this.#socket, closeCode, fault.name);
  }

  #checkAlive(): void {
    // A paused socket is pinged, because a failed write is the only sign of a closed peer, but its pong is not read.
    if (!this.#alive && !this.#paused) return this.#socket.terminate();
    this.#alive = this.#paused;
    this.#socket.ping();
  }
}

// The bytes of a message in a buffer of about their size: a short message can be a view of the whole chunk in which it
// came, and would keep it in memory while it waits.
function ownBytes(data: RawData): Buffer {
  if (!Buffer.isBuffer(data)) return Buffer.concat(Array.isArray(data) ? data : [Buffer.from(data)]);
  if (2 * data.length >= data.buffer.byteLength) return data;
  const copy = Buffer.allocUnsafeSlow(data.length);
  data.copy(copy);
  return copy;
}

// A client can close with any of thousands of codes; labels must stay few.
const closeLabel = (code: number): LabelsOf<'turngraph_connections_closed_total'>['code'] =>
  metricDefinitions.turngraph_connections_closed_total.labels.code.find((known) => known === String(code)) ?? 'other';

/** Rejects a client after the handshake: sends the error in a frame, then closes. */
export function rejectConnection(socket: WebSocket, subprotocol: Subprotocol, fault: Fault, closeCode: number): void {
  const { code, name, message, detail } = fault;
  socket.on('error', () => socket.terminate());
  socket.send(serverCodecs[subprotocol].encode(serverFrame(0, 0, 'error', { code, name, message, detail })));
  closeSocket(socket, closeCode, name);
}

// Closes a socket; terminates it after a timeout, because a client that does not read does not answer the close frame.
function closeSocket(socket: WebSocket, closeCode: number, reason: string): void {
  socket.close(closeCode, reason);
  // A paused socket does not receive the close frame of the client; and a socket that is closed with unread data is
  // reset, which can destroy what the client has not read.
  socket.resume();
  const timeout = setTimeout(() => socket.terminate(), closeTimeoutMs);
  socket.once('close', () => clearTimeout(timeout));
}

/**
 * The subprotocol for a client: the first one offered that the server knows; JSON when none is offered, undefined when
 * none is known.
 */
export function chooseSubprotocol(offered: ReadonlySet<string>): Subprotocol | undefined {
  if (offered.size === 0) return 'turngraph.v1.json';
  return [...offered].find((name): name is Subprotocol => Object.hasOwn(serverCodecs, name));
}
