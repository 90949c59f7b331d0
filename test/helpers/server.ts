import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll } from 'vitest';
import { WebSocket } from 'ws';
import type { ClientFrameBodies, ServerFrame, ServerFrameBodies } from '../../src/protocol/frames.gen.ts';
import type { Interaction } from '../../src/chat/dialog.ts';
import { readServerOptions, type ServerOptions } from '../../src/server/config.ts';
import { start, type StartSettings } from '../../src/server/start.ts';
import type { TurngraphServer } from '../../src/server/socket/server.ts';
import { clientCodecs, type Subprotocol } from '../../src/protocol/codec/codec.ts';
import { clientFrame } from '../../src/protocol/codec/frame.ts';
import { firstOrAll } from './depth.ts';
import { heldEngine, type ScriptLine } from './heldEngine.ts';

/** Absolute path of a file in the repository. */
export const repositoryPath = (path: string): string => fileURLToPath(new URL(`../../${path}`, import.meta.url));

/** The subprotocols that integration tests run with: JSON in `npm test`, both codecs in `npm run test:all`. */
export const subprotocols: readonly Subprotocol[] = firstOrAll(['turngraph.v1.json', 'turngraph.v1.proto']);

/** For slow tests of what lies behind the codecs (models, engine processes, downloads): the other codec only repeats it. */
export const oneSubprotocol: readonly Subprotocol[] = ['turngraph.v1.proto'];

/** Options that replace the defaults of a test server; `script` is the script of its mock engine. */
export type TestServerOptions = Partial<ServerOptions> & StartSettings & { readonly script?: readonly ScriptLine[] };

/** Starts a server before all tests of a file (or of a `describe`) and disposes of it after them. */
export function useServer(options: TestServerOptions = {}): () => TurngraphServer {
  let server: TurngraphServer | undefined;
  beforeAll(async () => {
    server = await startTestServer(options);
  });
  afterAll(() => server?.[Symbol.asyncDispose]());
  return () => {
    if (!server) throw new Error('the server is started in beforeAll');
    return server;
  };
}

/** Starts a server for one test; the caller disposes of it. */
export async function startTestServer({
  script = [],
  extension,
  sendBuffer,
  downloads,
  engines,
  readMachine,
  extraModels,
  graceMs = 500,
  log,
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
      engineProcess: 'in',
      cache: join(tmpdir(), 'turngraph-tests'),
      mockScript,
      ...options,
    });
    if (!reading.ok) throw new Error(JSON.stringify(reading.errors));
    const settings = {
      ...(extension && { extension }),
      ...(sendBuffer && { sendBuffer }),
      ...(downloads && { downloads }),
      ...(log && { log }),
      ...(readMachine && { readMachine }),
      ...(extraModels && { extraModels }),
    };
    const ownEngines = { ...(isHeld && { mock: heldEngine(script) }), ...engines };
    return await start(reading.value, { graceMs, ...settings, engines: ownEngines });
  } finally {
    await rm(folder, { recursive: true });
  }
}

/** Name of a message from the server. */
export type ServerMessage = keyof ServerFrameBodies;

/** A client that sends frames and collects all that it receives, in order. */
export class TestClient implements AsyncDisposable {
  readonly received: ServerFrame[] = [];
  readonly socket: WebSocket;
  readonly closed: Promise<{ readonly code: number; readonly reason: string }>;
  readonly #codec: (typeof clientCodecs)[Subprotocol];
  readonly #waiting = new Set<() => void>();
  #requestId: number;

  /** @param lastRequestId the ids of its requests begin after this one. */
  constructor(url: string, subprotocol: Subprotocol, lastRequestId = 0) {
    this.#requestId = lastRequestId;
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

  /** Connects and chooses the engine. */
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

  /** Sends a request. Returns its id. */
  send<K extends keyof ClientFrameBodies>(body: K, fields: Partial<ClientFrameBodies[K]> = {}): number {
    const requestId = ++this.#requestId;
    this.socket.send(this.#codec.encode(clientFrame(requestId, body, fields)));
    return requestId;
  }

  /** Sends a request and waits for its final answer, which may be an error. */
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

  /** Creates an agent from a graph or the name of one. Returns its id. @throws Error when that fails. */
  async createAgent(graph: object | string, fields: Partial<ClientFrameBodies['createAgent']> = {}): Promise<number> {
    const source = typeof graph === 'string' ? { graphName: graph } : { graphJson: JSON.stringify(graph) };
    const answer = await this.request('createAgent', { ...source, ...fields });
    if (answer.body !== 'createAgent') throw new Error(JSON.stringify(answer));
    return answer.createAgent.agentId;
  }

  /** Sends a message to an agent and waits for the end of the turn. */
  async sendMessage(
    agentId: number,
    text: string,
    variables: Readonly<Record<string, string>> = {},
  ): Promise<TurnResult> {
    return this.turnOf(this.send('sendMessage', { agentId, text, variables }));
  }

  /** The dialog of an agent, if one frame has all of it. @throws Error otherwise. */
  async dialogOf(agentId: number): Promise<readonly Interaction[]> {
    const answer = await this.request('exportDialog', { agentId });
    if (answer.body !== 'exportDialog' || answer.exportDialog.of !== 1) throw new Error(JSON.stringify(answer));
    return JSON.parse(answer.exportDialog.historyJson) as readonly Interaction[];
  }

  /** Waits for the end of the turn that a sendMessage request began. @throws Error when it is rejected. */
  async turnOf(requestId: number): Promise<TurnResult> {
    const last = await this.finalResponse(requestId);
    if (last.body !== 'turnComplete') throw new Error(JSON.stringify(last));
    const frames = this.received.filter((frame) => frame.requestId === requestId);
    return {
      ...last.turnComplete,
      frames,
      text: frames.map((frame) => (frame.body === 'answerText' ? frame.answerText.text : '')).join(''),
      calls: frames.flatMap((frame) => (frame.body === 'toolCallNotification' ? [frame.toolCallNotification] : [])),
      events: frames.flatMap((frame) =>
        frame.body === 'nodeEvent' && !isStep(frame.nodeEvent) ? [frame.nodeEvent] : [],
      ),
      steps: last.turnComplete.path.map(({ nodeName, exit }) => `${nodeName}:${exit}`).join(' '),
    };
  }

  /** Waits for a message of this name. Returns the first one received. */
  async receive<K extends ServerMessage>(body: K): Promise<ServerFrameBodies[K]> {
    const frame = await this.waitFor((received) => received.body === body);
    return (frame as unknown as ServerFrameBodies)[body];
  }

  /** Waits for a frame that matches. Returns the first one received. @throws Error when the connection is closed. */
  async waitFor(matches: (frame: ServerFrame) => boolean): Promise<ServerFrame> {
    for (;;) {
      const frame = this.received.find(matches);
      if (frame) return frame;
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

/** A completed turn with its frames. */
export interface TurnResult extends Readonly<ServerFrameBodies['turnComplete']> {
  readonly frames: readonly ServerFrame[];
  readonly text: string;
  readonly calls: readonly ServerFrameBodies['toolCallNotification'][];
  /** Without node_started and node_finished. */
  readonly events: readonly ServerFrameBodies['nodeEvent'][];
  /** The path as `node:exit node:exit`. */
  readonly steps: string;
}

const isStep = ({ eventType }: ServerFrameBodies['nodeEvent']): boolean => /^node_(started|finished)$/.test(eventType);

const unfinished: readonly ServerMessage[] = [
  'answerField',
  'answerText',
  'toolCallNotification',
  'nodeEvent',
  'modelProgress',
];
const isFinal = ({ body }: ServerFrame): boolean => !unfinished.includes(body);

/** The error in an answer. @throws Error when the answer is none. */
export function errorOf(answer: ServerFrame): ServerFrameBodies['error'] {
  if (answer.body !== 'error') throw new Error(`no error, but ${JSON.stringify(answer)}`);
  return answer.error;
}
