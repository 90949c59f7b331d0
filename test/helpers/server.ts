import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll } from 'vitest';
import { WebSocket } from 'ws';
import type { ClientFrameBodies, ServerFrame, ServerFrameBodies } from '../../src/frames.gen.ts';
import { readServerOptions, type ServerOptions } from '../../src/config.ts';
import { start, type StartSettings } from '../../src/start.ts';
import type { TurngraphServer } from '../../src/server/server.ts';
import { clientCodecs, type Subprotocol } from '../../src/wire/codec.ts';
import { clientFrame } from '../../src/wire/frame.ts';
import { heldEngine, type ScriptLine } from './heldEngine.ts';

/** A file of the repository. */
export const repositoryPath = (path: string): string => fileURLToPath(new URL(`../../${path}`, import.meta.url));

/** Both codecs, by the name of their subprotocol: every story is told in each. */
export const subprotocols = ['turngraph.v1.proto', 'turngraph.v1.json'] as const satisfies readonly Subprotocol[];

/** How a server of a story differs from the usual one; `script` is what its mock engine answers. */
export type TestServerOptions = Partial<ServerOptions> & StartSettings & { readonly script?: readonly ScriptLine[] };

/** A server for the stories of one file. */
export function useServer(differences: TestServerOptions = {}): () => TurngraphServer {
  let server: TurngraphServer | undefined;
  beforeAll(async () => {
    server = await startTestServer(differences);
  });
  afterAll(() => server?.[Symbol.asyncDispose]());
  return () => {
    if (!server) throw new Error('the server is not up yet');
    return server;
  };
}

/** A server of its own for one story. */
export async function startTestServer({
  script = [],
  extension,
  sendBuffer,
  downloads,
  engines,
  graceMs = 500,
  ...options
}: TestServerOptions): Promise<TurngraphServer> {
  const folder = await mkdtemp(join(tmpdir(), 'turngraph-'));
  const mockScript = join(folder, 'mock.json');
  const isHeld = script.some(({ gate }) => gate);
  await writeFile(mockScript, JSON.stringify(isHeld ? [] : script));
  try {
    const reading = readServerOptions({
      port: 0,
      graphs: repositoryPath('graphs'),
      catalogue: repositoryPath('models.json'),
      logLevel: 'silent',
      maxConnectionRate: 100_000,
      slots: 4,
      threads: 1,
      gpu: 'off',
      cache: join(tmpdir(), 'turngraph-tests'),
      mockScript,
      ...options,
    });
    if (!reading.ok) throw new Error(JSON.stringify(reading.errors));
    const settings = {
      ...(extension && { extension }),
      ...(sendBuffer && { sendBuffer }),
      ...(downloads && { downloads }),
    };
    const own = { ...(isHeld && { mock: heldEngine(script) }), ...engines };
    return await start(reading.value, { graceMs, ...settings, engines: own });
  } finally {
    await rm(folder, { recursive: true });
  }
}

/** One message of the server. */
export type ServerMessage = keyof ServerFrameBodies;

/** A client that speaks in frames and hears them in order. */
export class TestClient implements AsyncDisposable {
  readonly received: ServerFrame[] = [];
  readonly socket: WebSocket;
  readonly closed: Promise<{ readonly code: number; readonly reason: string }>;
  readonly #codec: (typeof clientCodecs)[Subprotocol];
  readonly #waiting = new Set<() => void>();
  #requestId = 0;

  constructor(url: string, subprotocol: Subprotocol) {
    this.#codec = clientCodecs[subprotocol];
    this.socket = new WebSocket(url, [subprotocol]);
    this.socket.on('message', (data: Buffer, isBinary: boolean) => {
      const decoded = this.#codec.decode(isBinary ? data : data.toString());
      if (!decoded.ok) throw decoded.fault;
      this.received.push(decoded.frame);
      this.#wake();
    });
    this.closed = new Promise((resolve, reject) => {
      this.socket.on('close', (code, reason) => resolve({ code, reason: reason.toString() }));
      this.socket.on('error', reject);
    });
    this.closed.then(
      () => this.#wake(),
      () => this.#wake(),
    );
  }

  /** Connects, chooses the engine and waits until the server has agreed. */
  static async connect(
    url: string,
    subprotocol: Subprotocol,
    engine: 'mock' | 'llama-cpp' = 'mock',
  ): Promise<TestClient> {
    const client = new TestClient(url, subprotocol);
    await client.receive('sessionReady');
    await client.request('configureSession', { engine });
    return client;
  }

  /** Sends a request and gives its id. */
  send<K extends keyof ClientFrameBodies>(body: K, fields: Partial<ClientFrameBodies[K]> = {}): number {
    const requestId = ++this.#requestId;
    this.socket.send(this.#codec.encode(clientFrame(requestId, body, fields)));
    return requestId;
  }

  /** Sends a request and waits for its final answer, whichever it is. */
  async request<K extends keyof ClientFrameBodies>(
    body: K,
    fields: Partial<ClientFrameBodies[K]> = {},
  ): Promise<ServerFrame> {
    return this.finalResponse(this.send(body, fields));
  }

  /** Waits for the final answer to a request. */
  finalResponse(requestId: number): Promise<ServerFrame> {
    return this.waitFor((frame) => frame.requestId === requestId && isFinal(frame));
  }

  /** Makes an agent of a graph. */
  async createAgent(graph: object | string, fields: Partial<ClientFrameBodies['createAgent']> = {}): Promise<number> {
    const source = typeof graph === 'string' ? { graphName: graph } : { graphJson: JSON.stringify(graph) };
    const answer = await this.request('createAgent', { ...source, ...fields });
    if (answer.body !== 'createAgent') throw new Error(JSON.stringify(answer));
    return answer.createAgent.agentId;
  }

  /** Says something to an agent and waits for the end of the turn. */
  async sendMessage(
    agentId: number,
    text: string,
    variables: Readonly<Record<string, string>> = {},
  ): Promise<TurnResult> {
    return this.turnOf(this.send('sendMessage', { agentId, text, variables }));
  }

  /** Waits for the end of the turn that a request began. */
  async turnOf(requestId: number): Promise<TurnResult> {
    const last = await this.finalResponse(requestId);
    if (last.body !== 'turnComplete') throw new Error(JSON.stringify(last));
    const frames = this.received.filter((frame) => frame.requestId === requestId);
    return {
      ...last.turnComplete,
      frames,
      text: frames.map((frame) => (frame.body === 'answerText' ? frame.answerText.text : '')).join(''),
      calls: frames.flatMap((frame) => (frame.body === 'toolCallNotification' ? [frame.toolCallNotification] : [])),
      events: frames.flatMap((frame) => (frame.body === 'nodeEvent' ? [frame.nodeEvent] : [])),
      steps: last.turnComplete.path.map(({ nodeName, exit }) => `${nodeName}:${exit}`).join(' '),
    };
  }

  /** Waits for the next frame of a kind that has not been looked at by this call before. */
  async receive<K extends ServerMessage>(body: K): Promise<ServerFrameBodies[K]> {
    const frame = await this.waitFor((heard) => heard.body === body);
    return (frame as unknown as ServerFrameBodies)[body];
  }

  /** Waits until a frame is there. */
  async waitFor(wanted: (frame: ServerFrame) => boolean): Promise<ServerFrame> {
    for (;;) {
      const found = this.received.find(wanted);
      if (found) return found;
      if (this.socket.readyState >= WebSocket.CLOSING)
        throw new Error(`closed after ${JSON.stringify(this.received.at(-1))}`);
      await new Promise<void>((resolve) => this.#waiting.add(resolve));
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.socket.close();
    await this.closed.catch(() => undefined);
  }

  #wake(): void {
    this.#waiting.forEach((resolve) => resolve());
    this.#waiting.clear();
  }
}

/** A turn as a client hears of it. */
export interface TurnResult extends Readonly<ServerFrameBodies['turnComplete']> {
  readonly frames: readonly ServerFrame[];
  readonly text: string;
  readonly calls: readonly ServerFrameBodies['toolCallNotification'][];
  readonly events: readonly ServerFrameBodies['nodeEvent'][];
  /** The path as `node:exit node:exit`. */
  readonly steps: string;
}

const unfinished: readonly ServerMessage[] = ['answerText', 'toolCallNotification', 'nodeEvent', 'modelProgress'];
const isFinal = ({ body }: ServerFrame): boolean => !unfinished.includes(body);

/** The error that an answer is, or a failed test. */
export function errorOf(answer: ServerFrame): ServerFrameBodies['error'] {
  if (answer.body !== 'error') throw new Error(`no error, but ${JSON.stringify(answer)}`);
  return answer.error;
}
