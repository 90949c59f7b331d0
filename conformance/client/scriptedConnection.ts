import type { Socket } from 'node:net';
import type { WebSocket } from 'ws';
import type { ClientFrame, ClientFrameBodies, ServerFrameBodies } from '../../src/protocol/frames.gen.ts';
import type { Fault } from '../../src/protocol/fault.ts';
import { serverCodecs, type Subprotocol } from '../../src/protocol/codec/codec.ts';
import { serverFrame } from '../../src/protocol/codec/frame.ts';
import type { FrameChange, FramePayload } from './futureFrames.ts';
import type { ScriptedSession } from './scriptedSession.ts';
import { encodeFragments, encodeWebSocketFrame, opcodes } from './webSocketFrame.ts';

/** How a message is put on the wire. */
export interface Delivery {
  /** Max bytes of a WebSocket fragment; default: the message is one. */
  readonly fragmentBytes?: number;
  /** Sends a ping after each fragment. */
  readonly pings?: boolean;
  /** Max bytes of one TCP write; default: a frame is one. */
  readonly writeBytes?: number;
  /** Milliseconds after each TCP write. */
  readonly writeDelayMs?: number;
  /** A change of the encoded frame. */
  readonly change?: FrameChange;
}

/** Receives what arrives over a connection. */
export interface ConnectionListener {
  request(frame: ClientFrame, bytes: Buffer, connection: ScriptedConnection): void;
  pong(payload: string): void;
  closed(code: number, connection: ScriptedConnection): void;
  /** The client broke a rule that holds for all scenarios. */
  violation(rule: ClientRule, came: string): void;
}

/** Rules that hold for all that a client sends. */
export type ClientRule = 'frames' | 'request ids' | 'subprotocol' | 'events';

/** Frames that are final answers when they have the id of a request. */
const finalBodies: ReadonlySet<string> = new Set([
  'configureSession',
  'resumeSession',
  'createAgent',
  'turnComplete',
  'ack',
  'error',
]);

/** What a connection begins with. */
export interface ConnectionStart {
  readonly subprotocol: Subprotocol;
  readonly session: ScriptedSession;
  readonly path: string;
}

/** One connection of a client to the scripted server, from the handshake to its end. */
export class ScriptedConnection {
  /** The session of this connection; a resume replaces it. */
  session: ScriptedSession;
  /** Frames that were received on this connection. */
  received = 0;
  /** The path and the query that the client has asked for. */
  readonly path: string;
  /** Resolves when its TCP connection has ended on both sides: the client knows of it. */
  readonly ended: Promise<void>;
  readonly #subprotocol: Subprotocol;
  readonly #socket: WebSocket;
  readonly #tcp: Socket;
  #writing: Promise<void> = Promise.resolve();
  #isOpen = true;
  #isDropped = false;

  constructor(socket: WebSocket, tcp: Socket, { subprotocol, session, path }: ConnectionStart) {
    this.path = path;
    this.#socket = socket;
    this.#tcp = tcp;
    this.ended = new Promise((resolve) => tcp.once('close', () => resolve()));
    this.#subprotocol = subprotocol;
    this.session = session;
  }

  /** Starts to pass what arrives to a listener. */
  listen(listener: ConnectionListener): void {
    const socket = this.#socket;
    socket.on('message', (data: Buffer, isBinary) => this.#receive(data, isBinary, listener));
    socket.on('pong', (data) => listener.pong(data.toString()));
    socket.on('ping', (data) => this.#write([encodeWebSocketFrame(opcodes.pong, data)]));
    socket.on('error', (error) => listener.violation('frames', `invalid WebSocket traffic: ${error.message}`));
    socket.on('close', (code) => {
      this.#isOpen = false;
      // The end that the kit has made is no news, and a client that reports it late is right.
      if (!this.#isDropped) listener.closed(code, this);
    });
  }

  /** Sends a frame of the session, which counts and is kept for a replay. Without a connection it is only kept. */
  send<Body extends keyof ServerFrameBodies>(
    requestId: number,
    body: Body,
    fields: Partial<ServerFrameBodies[Body]> = {},
    delivery: Delivery = {},
  ): void {
    if (finalBodies.has(body)) this.session.pending.delete(requestId);
    const frame = serverFrame(requestId, this.session.nextSeq, body, fields);
    const payload = serverCodecs[this.#subprotocol].encode(frame);
    this.sendPayload(delivery.change ? delivery.change(payload) : payload, delivery);
  }

  /** Sends an encoded frame, which counts. */
  sendPayload(payload: FramePayload, delivery: Delivery = {}): void {
    const { session } = this;
    session.sent.push({ seq: session.nextSeq, payload });
    this.sendAgain(payload, delivery);
  }

  /** Sends a frame without a sequence number. */
  sendUncounted<Body extends keyof ServerFrameBodies>(
    requestId: number,
    body: Body,
    fields: Partial<ServerFrameBodies[Body]> = {},
    delivery: Delivery = {},
  ): void {
    this.session.pending.delete(requestId);
    const payload = serverCodecs[this.#subprotocol].encode(serverFrame(requestId, 0, body, fields));
    this.sendAgain(delivery.change ? delivery.change(payload) : payload, delivery);
  }

  /** Sends an encoded frame that has been counted. */
  sendAgain(payload: FramePayload, delivery: Delivery = {}): void {
    const opcode = typeof payload === 'string' ? opcodes.text : opcodes.binary;
    const bytes = Buffer.from(payload as string);
    const { fragmentBytes = Infinity, pings = false } = delivery;
    const fragments = encodeFragments(opcode, bytes, Math.min(fragmentBytes, bytes.length || 1));
    const ping = encodeWebSocketFrame(opcodes.ping, Buffer.from('between fragments'));
    this.#write(
      fragments.flatMap((fragment, index) => (pings && index < fragments.length - 1 ? [fragment, ping] : [fragment])),
      delivery,
    );
  }

  /** Whether frames of this connection are binary. */
  get isBinary(): boolean {
    return serverCodecs[this.#subprotocol].binary;
  }

  /** Sends a ping. */
  ping(payload: string): void {
    this.#write([encodeWebSocketFrame(opcodes.ping, Buffer.from(payload))]);
  }

  /** Holds back all writes until `release` is called: then they go out in one piece. */
  hold(): () => void {
    this.#tcp.cork();
    return () => void this.#afterWrites(() => this.#tcp.uncork());
  }

  /** Sends a close frame; the client answers it. */
  close(code: number, reason: string): void {
    void this.#afterWrites(() => this.#socket.close(code, reason));
  }

  /** Like `drop`. Returns the connection, on which frames of the session are only kept from now on. */
  dropped(): this {
    this.drop();
    return this;
  }

  /** Ends the connection without a close frame, as a crashed process does. */
  drop(): void {
    this.#isDropped = true;
    void this.#afterWrites(() => {
      this.#isOpen = false;
      this.#tcp.end();
      // A client that does not end its side would keep the socket open.
      setTimeout(() => this.#tcp.destroy(), 200).unref();
    });
  }

  async #afterWrites(action: () => void): Promise<void> {
    await this.#writing;
    action();
  }

  #write(frames: readonly Buffer[], delivery: Delivery = {}): void {
    this.#writing = this.#writeAfter(this.#writing, frames, delivery);
  }

  async #writeAfter(before: Promise<void>, frames: readonly Buffer[], delivery: Delivery): Promise<void> {
    await before;
    const { writeBytes, writeDelayMs = 0 } = delivery;
    for (const frame of frames) {
      const size = writeBytes ?? frame.length;
      for (let start = 0; start < frame.length; start += size) {
        if (!this.#isOpen) return;
        this.#tcp.write(frame.subarray(start, start + size));
        if (writeDelayMs > 0) await new Promise((resolve) => setTimeout(resolve, writeDelayMs));
      }
    }
  }

  #receive(data: Buffer, isBinary: boolean, listener: ConnectionListener): void {
    // What arrives after a drop would not have arrived.
    if (!this.#isOpen) return;
    this.received++;
    const { session } = this;
    const codec = serverCodecs[this.#subprotocol];
    const decoded = codec.decode(isBinary ? data : data.toString());
    if (isBinary !== codec.binary) {
      listener.violation('frames', `a ${isBinary ? 'binary' : 'text'} message on a connection of ${codec.subprotocol}`);
    } else if (!decoded.ok) listener.violation('frames', decoded.fault.message);
    if (!decoded.ok) {
      session.received.push(data);
      return this.refuse(decoded.requestId, decoded.fault);
    }
    const { frame } = decoded;
    if (frame.body !== 'resumeSession') session.received.push(data);
    if (frame.requestId === 0) listener.violation('request ids', `${frame.body} with requestId 0`);
    else if (session.pending.has(frame.requestId)) {
      listener.violation(
        'request ids',
        `${frame.body} with requestId ${frame.requestId}, which another request still waits with`,
      );
    }
    session.pending.add(frame.requestId);
    listener.request(frame, data, this);
  }

  /** Answers a request with an error. */
  refuse(requestId: number, fault: Fault): void {
    const { code, name, message, detail } = fault;
    this.send(requestId, 'error', { code, name, message, detail });
  }
}

/** A request of one kind, with the bytes of its frame. */
export interface ClientRequest<Name extends keyof ClientFrameBodies> {
  readonly requestId: number;
  readonly fields: ClientFrameBodies[Name];
  readonly bytes: Buffer;
  readonly connection: ScriptedConnection;
}
