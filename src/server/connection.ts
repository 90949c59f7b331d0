import { randomUUID } from 'node:crypto';
import { WebSocket, type RawData } from 'ws';
import { Fault } from '../fault.ts';
import type { ServerFrame } from '../frames.gen.ts';
import { Conversation } from '../session/conversation.ts';
import { Session, type House } from '../session/session.ts';
import { serverCodecs, type Codec, type Subprotocol } from '../wire/codec.ts';
import { serverFrame } from '../wire/frame.ts';
import type { ClientFrame } from '../frames.gen.ts';
import { version } from '../version.ts';

/** The most bytes that a frame of a client may have. */
export const maxFrameBytes = 1024 * 1024;

const protocolVersion = 1;
const tooLarge = 1009;

/** A WebSocket that says what is wrong before it closes over a frame that is too large. */
export class Peer extends WebSocket {
  onTooLarge: (() => void) | undefined;

  override close(code?: number, reason?: string | Buffer): void {
    if (code === tooLarge) this.onTooLarge?.();
    super.close(code, reason);
  }
}

/** One client on its socket: a session that lives as long as the connection. */
export class Connection implements AsyncDisposable {
  readonly #socket: Peer;
  readonly #codec: Codec<ClientFrame, ServerFrame>;
  readonly #conversation: Conversation;
  readonly #ping: NodeJS.Timeout;
  #alive = true;
  #ended: Promise<void> | undefined;

  constructor(socket: Peer, subprotocol: Subprotocol, house: House, pingMs: number) {
    this.#socket = socket;
    this.#codec = serverCodecs[subprotocol];
    const session = new Session(randomUUID(), house);
    this.#conversation = new Conversation(session, (frame) => this.#send(frame));
    socket.onTooLarge = () =>
      this.#complain(new Fault('FRAME_TOO_LARGE', `a frame may have ${maxFrameBytes} bytes; send less at a time`));
    socket.on('message', (data: RawData, isBinary: boolean) => this.#hear(data, isBinary));
    socket.on('pong', () => (this.#alive = true));
    // ws reports here what it then closes the socket for.
    socket.on('error', (error) => house.log.debug({ session: session.id, err: error }, 'socket failed'));
    socket.on('close', (code) => {
      house.log.info({ session: session.id, code }, 'session ended');
      this[Symbol.asyncDispose]().catch((error: unknown) =>
        house.log.error({ session: session.id, err: error }, 'session ended badly'),
      );
    });
    this.#ping = setInterval(() => this.#checkAlive(), pingMs).unref();
    house.log.info({ session: session.id, subprotocol: this.#codec.subprotocol }, 'session began');
    this.#send(
      serverFrame(0, 0, 'sessionReady', {
        protocolVersion,
        sessionId: session.id,
        resumeToken: randomUUID(),
        serverVersion: version,
      }),
    );
  }

  /** Closes the socket and waits until everything of the session is gone. */
  close(code: number, reason: string): Promise<void> {
    this.#socket.close(code, reason);
    return this[Symbol.asyncDispose]();
  }

  [Symbol.asyncDispose](): Promise<void> {
    this.#ended ??= this.#end();
    return this.#ended;
  }

  async #end(): Promise<void> {
    clearInterval(this.#ping);
    await this.#conversation[Symbol.asyncDispose]();
  }

  #hear(data: RawData, isBinary: boolean): void {
    const bytes = Buffer.isBuffer(data) ? data : Buffer.concat(Array.isArray(data) ? data : [Buffer.from(data)]);
    // Text is taken as bytes where it is expected, so that the codec answers for what is no UTF-8.
    this.#conversation.receive(this.#codec.decode(isBinary || !this.#codec.binary ? bytes : bytes.toString('utf8')));
  }

  #send(frame: ServerFrame): void {
    if (this.#socket.readyState === WebSocket.OPEN) this.#socket.send(this.#codec.encode(frame));
  }

  #complain(fault: Fault): void {
    const { code, name, message, detail } = fault;
    this.#send(serverFrame(0, 0, 'error', { code, name, message, detail }));
  }

  #checkAlive(): void {
    if (!this.#alive) return this.#socket.terminate();
    this.#alive = false;
    this.#socket.ping();
  }
}

/** Tells a client why it cannot stay, and closes. */
export function turnOut(socket: WebSocket, subprotocol: Subprotocol, fault: Fault, closeCode: number): void {
  const { code, name, message, detail } = fault;
  socket.on('error', () => socket.terminate());
  socket.send(serverCodecs[subprotocol].encode(serverFrame(0, 0, 'error', { code, name, message, detail })));
  socket.close(closeCode, name);
}

/** The subprotocol to speak with a client: JSON when it offered none, undefined when it offered none that is known. */
export function chooseSubprotocol(offered: ReadonlySet<string>): Subprotocol | undefined {
  if (offered.size === 0) return 'turngraph.v1.json';
  return [...offered].find((name): name is Subprotocol => Object.hasOwn(serverCodecs, name));
}
