import { type RawData, WebSocket } from 'ws';
import type { Duplex } from 'node:stream';
import { Fault } from '../../protocol/fault.ts';
import { type Codec, serverCodecs, type Subprotocol } from '../../protocol/codec/codec.ts';
import { serverFrame } from '../../protocol/codec/frame.ts';
import { closeCodes } from '../../protocol/closeCodes.ts';
import { maxFrameBytes } from '../../protocol/frameSize.ts';
import type { ClientFrame, ServerFrame } from '../../protocol/frames.gen.ts';
import { countError, type Metrics } from '../metrics/metrics.ts';
import { type LabelsOf, metricDefinitions } from '../metrics/definitions.ts';
import { encodeFrame } from '../session/outgoingFrames.ts';
import { findResumeFrame, type ReceivedRequest, type ResumeFrame } from '../session/dispatcher.ts';
import type { ResumableSession, SessionConnection } from '../session/resumableSession.ts';
import type { Sessions } from '../session/sessions.ts';
import { version } from '../../base/packageFiles.ts';
import { createSendBuffer, type SendBuffer, type SendBufferLimits } from '../sendBuffer.ts';

const protocolVersion = 1;
/** Between pings; a connection without a pong in between is terminated. */
const pingMs = 30_000;

/** The server's WebSocket class: calls `onTooLarge` before ws closes over a frame of more than `maxFrameBytes`. */
export class ClientSocket extends WebSocket {
  onTooLarge: (() => void) | undefined;

  override close(code?: number, reason?: string | Buffer): void {
    // With a reason, even an empty one, ws echoes the close of a client that could not take a frame.
    if (code === closeCodes.frameTooLarge && reason === undefined) this.onTooLarge?.();
    super.close(code, reason);
  }
}

export interface ConnectionOptions {
  readonly subprotocol: Subprotocol;
  readonly sessions: Sessions;
  readonly sendBuffer: SendBufferLimits;
  /** Called before each frame is written, to coalesce writes. */
  readonly coalesce: () => void;
}

/** A client connection: a WebSocket, its codec and send buffer. It begins a session, or resumes an older one. */
export class ClientConnection implements SessionConnection {
  readonly subprotocol: Subprotocol;
  readonly #socket: ClientSocket;
  readonly #codec: Codec<ClientFrame, ServerFrame>;
  /** Its unsent bytes and backpressure are for the metrics, too. */
  readonly output: SendBuffer;
  readonly #coalesce: () => void;
  readonly #sessions: Sessions;
  readonly #ping: NodeJS.Timeout;
  readonly #metrics: Metrics;
  #session: ResumableSession;
  #received = false;
  #alive = true;
  #paused = false;
  #closing = false;

  constructor(socket: ClientSocket, { subprotocol, sessions, sendBuffer, coalesce }: ConnectionOptions) {
    const { log, metrics } = sessions.options.context;
    this.subprotocol = subprotocol;
    this.#socket = socket;
    this.#coalesce = coalesce;
    this.#codec = serverCodecs[subprotocol];
    this.#sessions = sessions;
    const slowReader = new Fault('LIMIT_EXCEEDED', 'the client reads too slowly; read what is sent, or ask for less');
    this.#metrics = metrics;
    this.#metrics.add('turngraph_connections_total', { subprotocol });
    this.output = createSendBuffer(
      sendBuffer,
      () => this.#closeAfter(slowReader, closeCodes.slowReader),
      () => this.#metrics.add('turngraph_slow_reader_pauses_total', {}),
    );
    this.#session = sessions.open(this);
    const tooLarge = new Fault('FRAME_TOO_LARGE', `a frame may have ${maxFrameBytes} bytes; send less at a time`);
    socket.onTooLarge = () => {
      sessions.options.logRequests(this.#session.id)(0, tooLarge);
      this.#sendError(tooLarge);
      this.#leave(closeCodes.frameTooLarge);
    };
    socket.on('message', (data: RawData, isBinary: boolean) => this.#closing || this.#receive(data, isBinary));
    socket.on('pong', () => (this.#alive = true));
    // ws emits this before it closes the socket for a protocol error.
    socket.on('error', (error) => log.debug({ session: this.#session.id, err: error }, 'socket failed'));
    socket.on('close', (code) => {
      this.#metrics.add('turngraph_connections_closed_total', { code: closeLabel(code) });
      this.#leave(code);
    });
    this.#ping = setInterval(() => this.#checkAlive(), pingMs).unref();
    const { id: sessionId, token: resumeToken } = this.#session;
    const ready = { protocolVersion, sessionId, resumeToken, serverVersion: version };
    this.write(encodeFrame(subprotocol, serverFrame(0, 0, 'sessionReady', ready)));
  }

  /** Writes an encoded frame; does nothing when the socket is closed, or closes. */
  write(bytes: Uint8Array): void {
    if (this.#socket.readyState !== WebSocket.OPEN) return;
    this.#coalesce();
    this.#socket.send(bytes, { binary: this.#codec.binary }, this.output.track(bytes.length));
  }

  /** Undefined while the client reads fast enough; else a promise that resolves when it has caught up, or has left. */
  drained(): Promise<void> | undefined {
    return this.output.drained();
  }

  pause(): void {
    this.#paused = true;
    this.#socket.pause();
  }

  resume(): void {
    this.#paused = false;
    // The pong may be behind what was not read: begin a new period.
    this.#alive = true;
    this.#socket.resume();
  }

  closeWithError(fault: Fault): void {
    this.#closeAfter(fault, closeCodes.limitExceeded);
  }

  /** Another connection has resumed the session: nothing is read any more, and the socket is closed. */
  takenOver(): void {
    this.#close(closeCodes.resumedElsewhere, 'another connection has resumed the session');
  }

  /** Ends the session, cancelling its turns, and then closes the socket. */
  async close(code: number, reason: string): Promise<void> {
    this.#closing = true;
    this.output.end();
    await this.#sessions.end(this.#session, { reason });
    this.#close(code, reason);
  }

  #receive(data: RawData, isBinary: boolean): void {
    const bytes = ownBytes(data);
    // The JSON codec gets text as bytes: ws does not validate UTF-8 here, so that the codec can answer with an error.
    const asBytes = isBinary || !this.#codec.binary;
    const request: ReceivedRequest = {
      bytes: bytes.length,
      decode: () => this.#codec.decode(asBytes ? bytes : bytes.toString('utf8')),
    };
    const isFirst = !this.#received;
    this.#received = true;
    const frame = isFirst && findResumeFrame(request);
    if (frame) this.#resumeSession(frame);
    else this.#session.dispatcher.receive(request);
  }

  #resumeSession(frame: ResumeFrame): void {
    const result = this.#sessions.resume(this, this.#session, frame);
    if ('fault' in result) {
      this.#session.dispatcher.reject(frame.requestId, result.fault);
      if (result.reason === 'wrong_token') void this.close(closeCodes.wrongResumeToken, 'a wrong resume token');
    } else this.#session = result;
  }

  #sendError({ code, name, message, detail }: Fault): void {
    countError(this.#metrics, 'connection', { code, name });
    this.write(encodeFrame(this.subprotocol, serverFrame(0, 0, 'error', { code, name, message, detail })));
  }

  #closeAfter(fault: Fault, closeCode: number): void {
    this.#sendError(fault);
    this.#close(closeCode, fault.name);
  }

  #close(closeCode: number, reason: string): void {
    this.#closing = true;
    this.#leave(closeCode);
    closeSocket(this.#socket, closeCode, reason);
  }

  // Turns that wait for this client go on: without a connection, or with another one.
  #leave(closeCode: number): void {
    clearInterval(this.#ping);
    this.output.end();
    this.#sessions.detach(this.#session, this, closeCode);
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

/** The first offered subprotocol that the server knows; JSON when none is offered, undefined when none is known. */
export function chooseSubprotocol(offered: ReadonlySet<string>): Subprotocol | undefined {
  if (offered.size === 0) return 'turngraph.v1.json';
  return [...offered].find((name): name is Subprotocol => Object.hasOwn(serverCodecs, name));
}

const closeTimeoutMs = 2_000;

/** Closes a socket; terminates it after a timeout, because a client that does not read does not answer the close frame. */
function closeSocket(socket: WebSocket, closeCode: number, reason: string): void {
  socket.close(closeCode, reason);
  // A paused socket does not receive the close frame of the client; and a socket that is closed with unread data is
  // reset, which can destroy what the client has not read.
  socket.resume();
  const timeout = setTimeout(() => socket.terminate(), closeTimeoutMs);
  socket.once('close', () => clearTimeout(timeout));
}

/** Rejects a client after the handshake: sends the error in a frame, then closes. */
export function rejectConnection(socket: WebSocket, subprotocol: Subprotocol, fault: Fault, closeCode: number): void {
  const { code, name, message, detail } = fault;
  socket.on('error', () => socket.terminate());
  socket.send(serverCodecs[subprotocol].encode(serverFrame(0, 0, 'error', { code, name, message, detail })));
  closeSocket(socket, closeCode, name);
}

/** Coalesces small writes (cork): one system call for a round of the event loop. Call the result before each write. */
export function coalesceWrites(socket: Duplex): () => void {
  let corked = false;
  const flush = (): void => {
    corked = false;
    socket.uncork();
  };
  return () => {
    if (corked) return;
    corked = true;
    socket.cork();
    setImmediate(flush);
  };
}
