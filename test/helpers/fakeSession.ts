import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { WebSocketServer, type WebSocket as Socket } from 'ws';
import { connect, type ConnectOptions } from '../../src/client/index.ts';
import type { ClientFrame, ResumeSessionRequest, ServerFrameBodies } from '../../src/protocol/frames.gen.ts';
import { serverCodecs, type Subprotocol } from '../../src/protocol/codec/codec.ts';
import { serverFrame } from '../../src/protocol/codec/frame.ts';
import { cleanups } from './fakeServer.ts';

/** Answers a request of a fake session. */
export type SessionScript = (frame: ClientFrame, session: FakeSession) => void;

type Data = string | Uint8Array;

/**
 * A server with one session, which can be resumed. A test says what gets lost: frames that the session does not read are
 * not counted, and frames that it does not write are only sent again later.
 */
export class FakeSession {
  url = '';
  /** The requests that were read, without resumeSession. */
  readonly received: ClientFrame[] = [];
  /** Their bytes. */
  readonly receivedData: Data[] = [];
  /** All messages that have arrived, also those that were not read. */
  readonly arrivedData: Data[] = [];
  readonly resumes: ResumeSessionRequest[] = [];
  readonly handshakes: { readonly url: string | undefined; readonly authorization: string | undefined }[] = [];
  isReading = true;
  isWriting = true;
  /** Called for each connection with its number, from 1, instead of sending sessionReady; undefined: it is sent. */
  onConnection: ((count: number, socket: Socket, greet: () => void) => void) | undefined;
  /** Called for a resumeSession instead of answering it. */
  onResume: ((request: ResumeSessionRequest, socket: Socket, answer: () => void) => void) | undefined;
  /** The number of the first frame that is sent again; default: that after the last seq of the client. */
  replayFrom: ((lastSeq: number) => number) | undefined;
  /** The number of requests that the session claims to have received. */
  claimedRequests: number | undefined;
  socket: Socket | undefined;
  readonly #script: SessionScript;
  readonly #frames: { readonly seq: number; readonly data: Data }[] = [];
  #codec = serverCodecs['turngraph.v1.json'];

  constructor(script: SessionScript) {
    this.#script = script;
  }

  async listen(): Promise<void> {
    const server = new WebSocketServer({ port: 0, host: '127.0.0.1' });
    await once(server, 'listening');
    cleanups.push(() => server.close());
    this.url = `ws://127.0.0.1:${(server.address() as AddressInfo).port}`;
    server.on('connection', (socket, { url, headers }) => {
      cleanups.push(() => socket.terminate());
      this.#codec = serverCodecs[socket.protocol as Subprotocol];
      this.handshakes.push({ url, authorization: headers.authorization });
      const greet = (): void => {
        if (this.handshakes.length === 1) this.socket = socket;
        const ready = { protocolVersion: 1, sessionId: `s${this.handshakes.length}`, resumeToken: 'key' };
        socket.send(this.#codec.encode(serverFrame(0, 0, 'sessionReady', ready)));
      };
      socket.on('message', (data: Buffer, isBinary) => this.#receive(isBinary ? data : data.toString(), socket));
      if (this.onConnection) this.onConnection(this.handshakes.length, socket, greet);
      else greet();
    });
  }

  /** Sends a frame of the session, now and after a resume. */
  send<Body extends keyof ServerFrameBodies>(
    requestId: number,
    body: Body,
    fields?: Partial<ServerFrameBodies[Body]>,
  ): void {
    const seq = this.#frames.length + 1;
    this.sendData(this.#codec.encode(serverFrame(requestId, seq, body, fields)));
  }

  /** Sends the bytes of a frame of the session, now and after a resume. */
  sendData(data: Data): void {
    this.#frames.push({ seq: this.#frames.length + 1, data });
    if (this.isWriting) this.socket?.send(data);
  }

  /** Forgets a frame that was not sent, so that the next ones have a gap before them. */
  loseFrame(): void {
    this.#frames.push({ seq: this.#frames.length + 1, data: '' });
  }

  /** Ends the connection: without a close frame, or with a code. */
  drop(code?: number, reason?: string): void {
    if (code === undefined) this.socket?.terminate();
    else this.socket?.close(code, reason);
  }

  /** Answers resumeSession with an error. */
  refuse(socket: Socket, requestId: number, name: 'SESSION_NOT_RESUMABLE' | 'UNAUTHORIZED', message: string): void {
    const code = { SESSION_NOT_RESUMABLE: 2003, UNAUTHORIZED: 2004 }[name];
    socket.send(this.#codec.encode(serverFrame(requestId, 1, 'error', { code, name, message })));
  }

  #receive(data: Data, socket: Socket): void {
    const decoded = this.#codec.decode(data);
    if (!decoded.ok) throw decoded.fault;
    const { frame } = decoded;
    if (frame.body === 'resumeSession') {
      this.resumes.push(frame.resumeSession);
      const answer = (): void => this.#resume(frame.requestId, frame.resumeSession.lastSeq, socket);
      if (this.onResume) this.onResume(frame.resumeSession, socket, answer);
      else answer();
      return;
    }
    this.arrivedData.push(data);
    if (!this.isReading) return;
    this.received.push(frame);
    this.receivedData.push(data);
    this.#script(frame, this);
  }

  #resume(requestId: number, lastSeq: number, socket: Socket): void {
    this.socket = socket;
    this.isReading = true;
    this.isWriting = true;
    const first = this.replayFrom?.(lastSeq) ?? lastSeq + 1;
    const missed = this.#frames.filter(({ seq, data }) => seq >= first && data !== '');
    const requestsReceived = this.claimedRequests ?? this.received.length;
    const response = { replayed: missed.length, requestsReceived };
    socket.send(this.#codec.encode(serverFrame(requestId, 0, 'resumeSession', response)));
    for (const { data } of missed) socket.send(data);
  }
}

/** A fake session and a client that is connected to it, and that reconnects without a delay. */
export async function connectToFakeSession(script: SessionScript, options: ConnectOptions = {}) {
  const session = new FakeSession(script);
  await session.listen();
  const client = await connect(session.url, { reconnect: { firstDelayMs: 0 }, ...options });
  cleanups.push(() => client.close());
  return { session, client };
}
