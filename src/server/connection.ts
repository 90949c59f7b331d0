import { randomUUID } from 'node:crypto';
import { WebSocket, type RawData } from 'ws';
import { Fault } from '../fault.ts';
import type { ServerFrame } from '../frames.gen.ts';
import { countError } from '../metrics/countError.ts';
import type { Metrics } from '../metrics/metrics.ts';
import { table, type LabelsOf } from '../metrics/definitions.ts';
import { Conversation } from '../session/dispatcher.ts';
import { Session, type House } from '../session/session.ts';
import { serverCodecs, type Codec, type Subprotocol } from '../wire/codec.ts';
import { serverFrame } from '../wire/frame.ts';
import type { ClientFrame } from '../frames.gen.ts';
import { version } from '../version.ts';
import { Outflow, type OutflowLimits } from './backpressure.ts';

/** The most bytes that a frame of a client may have. */
export const maxFrameBytes = 1024 * 1024;

const protocolVersion = 1;
const patienceMs = 2_000;

/** Why the server closes a connection. */
export const closeCodes = { goingAway: 1001, tooLarge: 1009, subprotocol: 4406, slow: 4408, tooMany: 4429 } as const;

/** A WebSocket that says what is wrong before it closes over a frame that is too large. */
export class Peer extends WebSocket {
  onTooLarge: (() => void) | undefined;

  override close(code?: number, reason?: string | Buffer): void {
    if (code === closeCodes.tooLarge) this.onTooLarge?.();
    super.close(code, reason);
  }
}

/** What a connection needs beside its socket. */
export interface ConnectionOptions {
  readonly subprotocol: Subprotocol;
  readonly house: House;
  readonly pingMs: number;
  readonly outflow: OutflowLimits;
  /** Called before each frame is written. */
  readonly gather: () => void;
}

/** One client on its socket: a session that lives as long as the connection. */
export class Connection implements AsyncDisposable {
  readonly #socket: Peer;
  readonly #codec: Codec<ClientFrame, ServerFrame>;
  readonly #outflow: Outflow;
  readonly #gather: () => void;
  readonly #conversation: Conversation;
  readonly #ping: NodeJS.Timeout;
  readonly #metrics: Metrics;
  #alive = true;
  #ended: Promise<void> | undefined;

  constructor(socket: Peer, { subprotocol, house, pingMs, outflow, gather }: ConnectionOptions) {
    this.#socket = socket;
    this.#gather = gather;
    this.#codec = serverCodecs[subprotocol];
    const slow = new Fault('LIMIT_EXCEEDED', 'the client reads too slowly; read what is sent, or ask for less');
    this.#metrics = house.metrics;
    this.#metrics.add('turngraph_connections_total', { subprotocol });
    this.#outflow = new Outflow(
      outflow,
      () => this.#hangUp(slow, closeCodes.slow),
      () => this.#metrics.add('turngraph_slow_reader_pauses_total', {}),
    );
    const id = randomUUID();
    this.#conversation = new Conversation(new Session(id, house, () => this.#outflow.pace()), {
      send: (frame) => this.#send(frame),
      hangUp: (fault) => this.#hangUp(fault, closeCodes.tooMany),
    });
    const tooLarge = new Fault('FRAME_TOO_LARGE', `a frame may have ${maxFrameBytes} bytes; send less at a time`);
    socket.onTooLarge = () => this.#complain(tooLarge);
    socket.on('message', (data: RawData, isBinary: boolean) => this.#hear(data, isBinary));
    socket.on('pong', () => (this.#alive = true));
    // ws reports here what it then closes the socket for.
    socket.on('error', (error) => house.log.debug({ session: id, err: error }, 'socket failed'));
    socket.on('close', (code) => {
      house.log.info({ session: id, code }, 'session ended');
      this.#metrics.add('turngraph_connections_closed_total', { code: closeLabel(code) });
      this[Symbol.asyncDispose]().catch((error: unknown) =>
        house.log.error({ session: id, err: error }, 'session ended badly'),
      );
    });
    this.#ping = setInterval(() => this.#checkAlive(), pingMs).unref();
    house.log.info({ session: id, subprotocol }, 'session began');
    const ready = { protocolVersion, sessionId: id, resumeToken: randomUUID(), serverVersion: version };
    this.#send(serverFrame(0, 0, 'sessionReady', ready));
  }

  /** What goes out to the client. */
  get outflow(): Pick<Outflow, 'unsent' | 'pace'> {
    return this.#outflow;
  }

  /** Resolves when no turn of the session runs. */
  idle(): Promise<void> {
    return this.#conversation.idle();
  }

  /** Ends the session, its turns as cancelled ones, and then the socket. */
  async close(code: number, reason: string): Promise<void> {
    await this[Symbol.asyncDispose]();
    part(this.#socket, code, reason);
  }

  [Symbol.asyncDispose](): Promise<void> {
    this.#ended ??= this.#end();
    return this.#ended;
  }

  async #end(): Promise<void> {
    clearInterval(this.#ping);
    this.#outflow.end();
    await this.#conversation[Symbol.asyncDispose]();
  }

  #hear(data: RawData, isBinary: boolean): void {
    const bytes = Buffer.isBuffer(data) ? data : Buffer.concat(Array.isArray(data) ? data : [Buffer.from(data)]);
    // Text is taken as bytes where it is expected, so that the codec answers for what is no UTF-8.
    const asBytes = isBinary || !this.#codec.binary;
    this.#conversation.receive(this.#codec.decode(asBytes ? bytes : bytes.toString('utf8')));
  }

  #send(frame: ServerFrame): void {
    if (this.#socket.readyState !== WebSocket.OPEN) return;
    const data = this.#codec.encode(frame);
    this.#gather();
    this.#socket.send(data, this.#outflow.sending(typeof data === 'string' ? Buffer.byteLength(data) : data.length));
  }

  #complain({ code, name, message, detail }: Fault): void {
    countError(this.#metrics, 'connection', { code, name });
    this.#send(serverFrame(0, 0, 'error', { code, name, message, detail }));
  }

  #hangUp(fault: Fault, closeCode: number): void {
    this.#complain(fault);
    part(this.#socket, closeCode, fault.name);
  }

  #checkAlive(): void {
    if (!this.#alive) return this.#socket.terminate();
    this.#alive = false;
    this.#socket.ping();
  }
}

// A client can send thousands of codes.
const closeLabel = (code: number): LabelsOf<'turngraph_connections_closed_total'>['code'] =>
  table.turngraph_connections_closed_total.labels.code.find((known) => known === String(code)) ?? 'other';

/** Tells a client why it cannot stay, and closes. */
export function turnOut(socket: WebSocket, subprotocol: Subprotocol, fault: Fault, closeCode: number): void {
  const { code, name, message, detail } = fault;
  socket.on('error', () => socket.terminate());
  socket.send(serverCodecs[subprotocol].encode(serverFrame(0, 0, 'error', { code, name, message, detail })));
  part(socket, closeCode, name);
}

// A client that does not read does not answer a close either, so it is not waited for.
function part(socket: WebSocket, closeCode: number, reason: string): void {
  socket.close(closeCode, reason);
  const patience = setTimeout(() => socket.terminate(), patienceMs);
  socket.once('close', () => clearTimeout(patience));
}

/** The subprotocol to speak with a client: JSON when it offered none, undefined when it offered none that is known. */
export function chooseSubprotocol(offered: ReadonlySet<string>): Subprotocol | undefined {
  if (offered.size === 0) return 'turngraph.v1.json';
  return [...offered].find((name): name is Subprotocol => Object.hasOwn(serverCodecs, name));
}
