import { randomUUID } from 'node:crypto';
import { WebSocket, type RawData } from 'ws';
import { closeCodes } from '../closeCodes.ts';
import { Fault } from '../fault.ts';
import { maxFrameBytes } from '../frameSize.ts';
import type { ServerFrame } from '../frames.gen.ts';
import { countError, type Metrics } from '../metrics/metrics.ts';
import { metricDefinitions, type LabelsOf } from '../metrics/definitions.ts';
import { RequestDispatcher } from '../session/dispatcher.ts';
import { Session, type ServerContext } from '../session/session.ts';
import { serverCodecs, type Codec, type Subprotocol } from '../wire/codec.ts';
import { serverFrame } from '../wire/frame.ts';
import type { ClientFrame } from '../frames.gen.ts';
import { version } from '../version.ts';
import { SendBuffer, type SendBufferLimits } from './backpressure.ts';

const protocolVersion = 1;
const closeTimeoutMs = 2_000;

/** A WebSocket that says what is wrong before it closes over a frame that is too large. */
export class ClientSocket extends WebSocket {
  onTooLarge: (() => void) | undefined;

  override close(code?: number, reason?: string | Buffer): void {
    if (code === closeCodes.frameTooLarge) this.onTooLarge?.();
    super.close(code, reason);
  }
}

/** What a connection needs beside its socket. */
export interface ConnectionOptions {
  readonly subprotocol: Subprotocol;
  readonly context: ServerContext;
  readonly pingMs: number;
  readonly sendBuffer: SendBufferLimits;
  /** Called before each frame is written. */
  readonly coalesce: () => void;
}

/** One client on its socket: a session that lives as long as the connection. */
export class ClientConnection implements AsyncDisposable {
  readonly #socket: ClientSocket;
  readonly #codec: Codec<ClientFrame, ServerFrame>;
  readonly #sendBuffer: SendBuffer;
  readonly #coalesce: () => void;
  readonly #dispatcher: RequestDispatcher;
  readonly #ping: NodeJS.Timeout;
  readonly #metrics: Metrics;
  #alive = true;
  #ended: Promise<void> | undefined;

  constructor(socket: ClientSocket, { subprotocol, context, pingMs, sendBuffer, coalesce }: ConnectionOptions) {
    this.#socket = socket;
    this.#coalesce = coalesce;
    this.#codec = serverCodecs[subprotocol];
    const slow = new Fault('LIMIT_EXCEEDED', 'the client reads too slowly; read what is sent, or ask for less');
    this.#metrics = context.metrics;
    this.#metrics.add('turngraph_connections_total', { subprotocol });
    this.#sendBuffer = new SendBuffer(
      sendBuffer,
      () => this.#close(slow, closeCodes.slowReader),
      () => this.#metrics.add('turngraph_slow_reader_pauses_total', {}),
    );
    const id = randomUUID();
    this.#dispatcher = new RequestDispatcher(new Session(id, context, () => this.#sendBuffer.drained()), {
      send: (frame) => this.#send(frame),
      closeWithError: (fault) => this.#close(fault, closeCodes.limitExceeded),
    });
    const tooLarge = new Fault('FRAME_TOO_LARGE', `a frame may have ${maxFrameBytes} bytes; send less at a time`);
    socket.onTooLarge = () => this.#sendError(tooLarge);
    socket.on('message', (data: RawData, isBinary: boolean) => this.#receive(data, isBinary));
    socket.on('pong', () => (this.#alive = true));
    // ws reports here what it then closes the socket for.
    socket.on('error', (error) => context.log.debug({ session: id, err: error }, 'socket failed'));
    socket.on('close', (code) => {
      context.log.info({ session: id, code }, 'session ended');
      this.#metrics.add('turngraph_connections_closed_total', { code: closeLabel(code) });
      this[Symbol.asyncDispose]().catch((error: unknown) =>
        context.log.error({ session: id, err: error }, 'session ended badly'),
      );
    });
    this.#ping = setInterval(() => this.#checkAlive(), pingMs).unref();
    context.log.info({ session: id, subprotocol }, 'session began');
    const ready = { protocolVersion, sessionId: id, resumeToken: randomUUID(), serverVersion: version };
    this.#send(serverFrame(0, 0, 'sessionReady', ready));
  }

  /** What goes out to the client. */
  get outflow(): Pick<SendBuffer, 'unsent' | 'drained'> {
    return this.#sendBuffer;
  }

  /** Resolves when no turn of the session runs. */
  idle(): Promise<void> {
    return this.#dispatcher.idle();
  }

  /** Ends the session, its turns as cancelled ones, and then the socket. */
  async close(code: number, reason: string): Promise<void> {
    await this[Symbol.asyncDispose]();
    closeOrTerminate(this.#socket, code, reason);
  }

  [Symbol.asyncDispose](): Promise<void> {
    this.#ended ??= this.#end();
    return this.#ended;
  }

  async #end(): Promise<void> {
    clearInterval(this.#ping);
    this.#sendBuffer.end();
    await this.#dispatcher[Symbol.asyncDispose]();
  }

  #receive(data: RawData, isBinary: boolean): void {
    const bytes = Buffer.isBuffer(data) ? data : Buffer.concat(Array.isArray(data) ? data : [Buffer.from(data)]);
    // Text is taken as bytes where it is expected, so that the codec answers for what is no UTF-8.
    const asBytes = isBinary || !this.#codec.binary;
    this.#dispatcher.receive(this.#codec.decode(asBytes ? bytes : bytes.toString('utf8')));
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

  #close(fault: Fault, closeCode: number): void {
    this.#sendError(fault);
    closeOrTerminate(this.#socket, closeCode, fault.name);
  }

  #checkAlive(): void {
    if (!this.#alive) return this.#socket.terminate();
    this.#alive = false;
    this.#socket.ping();
  }
}

// A client can send thousands of codes.
const closeLabel = (code: number): LabelsOf<'turngraph_connections_closed_total'>['code'] =>
  metricDefinitions.turngraph_connections_closed_total.labels.code.find((known) => known === String(code)) ?? 'other';

/** Tells a client why it cannot stay, and closes. */
export function rejectConnection(socket: WebSocket, subprotocol: Subprotocol, fault: Fault, closeCode: number): void {
  const { code, name, message, detail } = fault;
  socket.on('error', () => socket.terminate());
  socket.send(serverCodecs[subprotocol].encode(serverFrame(0, 0, 'error', { code, name, message, detail })));
  closeOrTerminate(socket, closeCode, name);
}

// A client that does not read does not answer a close either, so it is not waited for.
function closeOrTerminate(socket: WebSocket, closeCode: number, reason: string): void {
  socket.close(closeCode, reason);
  const patience = setTimeout(() => socket.terminate(), closeTimeoutMs);
  socket.once('close', () => clearTimeout(patience));
}

/** The subprotocol to speak with a client: JSON when it offered none, undefined when it offered none that is known. */
export function chooseSubprotocol(offered: ReadonlySet<string>): Subprotocol | undefined {
  if (offered.size === 0) return 'turngraph.v1.json';
  return [...offered].find((name): name is Subprotocol => Object.hasOwn(serverCodecs, name));
}
