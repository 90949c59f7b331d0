import type { Socket } from 'node:net';
import { setTimeout as wait } from 'node:timers/promises';
import type { WebSocket } from 'ws';
import type { ClientFrame, ClientFrameBodies, ServerFrame, SessionReady } from '../../src/protocol/frames.gen.ts';
import { clientCodecs } from '../../src/protocol/codec/codec.ts';
import { clientFrame, messageOf } from '../../src/protocol/codec/frame.ts';
import { ConformanceFailure, shown } from '../expect.ts';
import { readServerFrame } from './readServerFrame.ts';
import { isFinalAnswer, SessionTrace } from './sessionTrace.ts';
import type { ServerUnderTest } from './serverUnderTest.ts';
import { WakeUps } from './patience.ts';
import { openWebSocket, type Handshake, type WebSocketSettings } from './webSocket.ts';

const maxFrameBytes = 60 * 1024;
// More than any check asks for. A server that sends on and on must not fill the memory.
const maxFrames = 50_000;
const maxBytes = 64 * 1024 * 1024;
const closeTimeoutMs = 2000;
const modelTimeoutMs = 120_000;
const retryMs = 250;
const maxRetries = 40;

/** How a connection ended. */
export interface ConnectionEnd {
  readonly code: number;
  readonly reason: string;
}

/** Options of one connection. */
export type ConnectionSettings = Partial<Pick<WebSocketSettings, 'subprotocols' | 'sessionId'>>;

/** A connection to the server under test: sends anything, keeps all that comes, and checks the rules for every frame. */
export class CheckedConnection implements AsyncDisposable {
  /** All frames that came, in order. */
  readonly frames: ServerFrame[] = [];
  /** The extensions that the server has accepted. */
  readonly extensions: string | undefined;
  readonly socket: WebSocket;
  readonly tcp: Socket;
  readonly server: ServerUnderTest;
  #timeoutMs: number;
  readonly #wakeUps: WakeUps;
  readonly #agents = new Set<number>();
  #trace: SessionTrace;
  #resuming: SessionTrace | undefined;
  #lastRequestId = 0;
  #end: ConnectionEnd | undefined;
  #error = '';
  #messages = 0;
  #bytes = 0;

  private constructor(server: ServerUnderTest, { socket, tcp, extensions }: OpenedSocket) {
    this.server = server;
    this.#timeoutMs = server.timeoutMs;
    this.#wakeUps = new WakeUps(server.patience, () => this.#end !== undefined);
    this.socket = socket;
    this.tcp = tcp;
    this.extensions = extensions;
    this.#trace = new SessionTrace(server.rules);
    server.sockets.add(socket);
    socket.on('message', (data: Buffer, isBinary: boolean) => {
      if (this.#end) return;
      this.#receive(data, isBinary);
      this.#wakeUps.wake();
    });
    socket.on('error', ({ message }) => (this.#error = message));
    socket.on('close', (code, reason) => {
      this.#end ??= { code, reason: reason.toString() || this.#error };
      this.#wakeUps.wake();
    });
    socket.resume();
  }

  /** Connects. Waits a little where the server takes only so many new connections in a second. */
  static async open(server: ServerUnderTest, settings: ConnectionSettings = {}): Promise<CheckedConnection> {
    const { url, token, timeoutMs, subprotocol } = server;
    for (let retries = 0; ; retries++) {
      const opened = await openWebSocket({ url, token, timeoutMs, subprotocols: [subprotocol], ...settings });
      if (!('socket' in opened))
        throw new ConformanceFailure('a WebSocket', `HTTP ${opened.status} ${shown(opened.body)}`, 'Connecting');
      const connection = new CheckedConnection(server, opened);
      const first = await connection.waitFor(() => true, 'a first frame');
      const isRefused = first.body === 'error' && first.error.name === 'LIMIT_EXCEEDED';
      if (!isRefused || retries === maxRetries) return connection;
      await connection.untilClosed();
      await wait(retryMs);
    }
  }

  // A connection without a subprotocol, and a refused one, has JSON.
  get #isBinary(): boolean {
    return this.socket.protocol === 'turngraph.v1.proto';
  }

  /** The first frame. @throws ConformanceFailure when it is no SessionReady. */
  get ready(): SessionReady {
    const [first] = this.frames;
    if (first?.body === 'sessionReady') return first.sessionReady;
    throw new ConformanceFailure('a SessionReady as the first frame', shown(first), 'SessionReady');
  }

  /** What was sent and received in the session. */
  get trace(): SessionTrace {
    return this.#trace;
  }

  /** Sends a request. Returns its id. */
  send<Body extends keyof ClientFrameBodies>(
    body: Body,
    fields: Partial<ClientFrameBodies[Body]> = {},
    requestId = ++this.#lastRequestId,
  ): number {
    const frame = clientFrame(requestId, body, fields);
    const { agentId } = messageOf(frame) as { readonly agentId?: number };
    const subprotocol = this.#isBinary ? 'turngraph.v1.proto' : 'turngraph.v1.json';
    this.sendBytes(clientCodecs[subprotocol].encode(frame), { requestId, body, agentId });
    if (body === 'destroyAgent' && agentId !== undefined) this.#agents.delete(agentId);
    return requestId;
  }

  /** Sends text or bytes as they are, in the kind of message that the codec has. */
  sendBytes(data: string | Uint8Array, { requestId, body, agentId, binary }: Partial<SentFrame> = {}): void {
    for (const trace of requestId === undefined ? [] : [this.#trace, this.#resuming])
      trace?.sent(requestId ?? 0, body, agentId);
    this.socket.send(data, { binary: binary ?? this.#isBinary });
  }

  /** From now on an answer may take as long as a model does that is loaded first. */
  waitForModel(): void {
    this.#timeoutMs = Math.max(this.#timeoutMs, modelTimeoutMs);
  }

  /** The id of the last request. */
  get lastRequestId(): number {
    return this.#lastRequestId;
  }

  /** Request ids continue after this one. */
  continueAfter(requestId: number): void {
    this.#lastRequestId = requestId;
  }

  /** From the answer to a resumeSession on, the frames are those of an earlier session. */
  continueSession(trace: SessionTrace): void {
    this.#resuming = trace;
  }

  /** Sends a request and waits for its final answer, which may be an error. */
  request<Body extends keyof ClientFrameBodies>(
    body: Body,
    fields: Partial<ClientFrameBodies[Body]> = {},
  ): Promise<ServerFrame> {
    const from = this.frames.length;
    return this.answerTo(this.send(body, fields), from);
  }

  /** Waits for the final answer to a request. @throws ConformanceFailure */
  async answerTo(requestId: number, from = 0): Promise<ServerFrame> {
    const isAnswer = (frame: ServerFrame): boolean => frame.requestId === requestId && isFinalAnswer(frame);
    try {
      return await this.waitFor(isAnswer, `a final answer to request ${requestId}`, from);
    } catch (thrown) {
      if (thrown instanceof ConformanceFailure) this.#trace.unanswered(requestId, thrown.came);
      throw thrown;
    }
  }

  /** Waits for a frame after the first `from` frames. @throws ConformanceFailure when none comes. */
  async waitFor(matches: (frame: ServerFrame) => boolean, what: string, from = 0): Promise<ServerFrame> {
    for (let index = from; ; index++) {
      if (!(await this.#wakeUps.until(() => index < this.frames.length, this.#timeoutMs)))
        throw new ConformanceFailure(
          what,
          `${this.#describeSilence()}; the last frame was ${shown(this.frames.at(-1))}`,
        );
      const frame = this.frames[index];
      if (frame && matches(frame)) return frame;
    }
  }

  /** Waits until the connection has ended. @throws ConformanceFailure when it does not. */
  async untilClosed(): Promise<ConnectionEnd> {
    await this.#wakeUps.until(() => this.#end !== undefined, this.#timeoutMs);
    if (this.#end) return this.#end;
    throw new ConformanceFailure('a close frame', this.#describeSilence(), 'Close codes');
  }

  /** Ends the connection without a close frame, as a broken cable does. */
  async drop(): Promise<void> {
    this.#agents.clear();
    this.socket.terminate();
    await this.untilClosed();
  }

  /** Destroys the agents that are left, and closes. */
  async [Symbol.asyncDispose](): Promise<void> {
    if (this.#end) return;
    for (const agentId of this.#agents) this.send('destroyAgent', { agentId });
    this.socket.close(1000);
    const ended = await this.#wakeUps.until(() => this.#end !== undefined, closeTimeoutMs);
    if (!ended) this.socket.terminate();
  }

  #describeSilence(): string {
    if (this.#end) return `close ${this.#end.code} ${this.#end.reason}`.trim();
    return `nothing within ${this.server.patience.limit(this.#timeoutMs) / 1000} s`;
  }

  #receive(data: Buffer, isBinary: boolean): void {
    const { rules } = this.server;
    this.#bytes += data.length;
    if (++this.#messages > maxFrames || this.#bytes > maxBytes) {
      const reason = `by the kit, after ${this.#messages} frames of ${this.#bytes} bytes`;
      this.#end = { code: 1006, reason };
      rules.violate('answer', 'no more frames than the requests ask for', reason);
      return this.socket.terminate();
    }
    if (isBinary !== this.#isBinary)
      rules.violate('kind', `a ${isBinary ? 'text' : 'binary'} message`, shown(data.toString()));
    if (data.length >= maxFrameBytes) rules.violate('size', 'less than 61440 bytes', `${data.length}`);
    const { frame, fault } = readServerFrame(this.#isBinary ? 'turngraph.v1.proto' : 'turngraph.v1.json', data);
    if (fault !== undefined)
      rules.violate('form', 'a frame as the protocol has it', `${fault}, in ${shown(data.toString())}`);
    if (!frame) return this.#trace.skip();
    if (frame.body === 'resumeSession' && this.#resuming) this.#trace = this.#resuming;
    this.#noteAgents(frame);
    this.#trace.received(frame);
    this.frames.push(frame);
  }

  #noteAgents(frame: ServerFrame): void {
    if (frame.body === 'createAgent') this.#agents.add(frame.createAgent.agentId);
  }
}

type OpenedSocket = Extract<Handshake, { readonly socket: unknown }>;

/** What is known of a frame that is sent as bytes. */
interface SentFrame {
  readonly requestId: number;
  readonly body: ClientFrame['body'] | undefined;
  readonly agentId: number | undefined;
  readonly binary: boolean;
}
