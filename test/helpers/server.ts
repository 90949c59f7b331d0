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
import { heldEngine, type Line } from './heldEngine.ts';

/** A file of the repository. */
export const fileOf = (path: string): string => fileURLToPath(new URL(`../../${path}`, import.meta.url));

/** Both codecs, by the name of their subprotocol: every story is told in each. */
export const subprotocols = ['turngraph.v1.proto', 'turngraph.v1.json'] as const satisfies readonly Subprotocol[];

/** How a server of a story differs from the usual one; `script` is what its mock engine answers. */
export type Differences = Partial<ServerOptions> & StartSettings & { readonly script?: readonly Line[] };

/** A server for the stories of one file. */
export function aServer(differences: Differences = {}): () => TurngraphServer {
  let server: TurngraphServer | undefined;
  beforeAll(async () => {
    server = await serverWith(differences);
  });
  afterAll(() => server?.[Symbol.asyncDispose]());
  return () => {
    if (!server) throw new Error('the server is not up yet');
    return server;
  };
}

/** A server of its own for one story. */
export async function serverWith({
  script = [],
  extension,
  sendBuffer,
  downloads,
  engines,
  graceMs = 500,
  ...options
}: Differences): Promise<TurngraphServer> {
  const folder = await mkdtemp(join(tmpdir(), 'turngraph-'));
  const mockScript = join(folder, 'mock.json');
  const isHeld = script.some(({ gate }) => gate);
  await writeFile(mockScript, JSON.stringify(isHeld ? [] : script));
  try {
    const reading = readServerOptions({
      port: 0,
      graphs: fileOf('graphs'),
      catalogue: fileOf('models.json'),
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
export type Body = keyof ServerFrameBodies;

/** A client that speaks in frames and hears them in order. */
export class Player implements AsyncDisposable {
  readonly heard: ServerFrame[] = [];
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
      this.heard.push(decoded.frame);
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
  static async connect(url: string, subprotocol: Subprotocol, engine: 'mock' | 'llama-cpp' = 'mock'): Promise<Player> {
    const player = new Player(url, subprotocol);
    await player.hears('sessionReady');
    await player.asks('configureSession', { engine });
    return player;
  }

  /** Sends a request and gives its id. */
  sends<K extends keyof ClientFrameBodies>(body: K, fields: Partial<ClientFrameBodies[K]> = {}): number {
    const requestId = ++this.#requestId;
    this.socket.send(this.#codec.encode(clientFrame(requestId, body, fields)));
    return requestId;
  }

  /** Sends a request and waits for its final answer, whichever it is. */
  async asks<K extends keyof ClientFrameBodies>(
    body: K,
    fields: Partial<ClientFrameBodies[K]> = {},
  ): Promise<ServerFrame> {
    return this.answer(this.sends(body, fields));
  }

  /** Waits for the final answer to a request. */
  answer(requestId: number): Promise<ServerFrame> {
    return this.until((frame) => frame.requestId === requestId && isFinal(frame));
  }

  /** Makes an agent of a graph. */
  async makes(graph: object | string, fields: Partial<ClientFrameBodies['createAgent']> = {}): Promise<number> {
    const source = typeof graph === 'string' ? { graphName: graph } : { graphJson: JSON.stringify(graph) };
    const answer = await this.asks('createAgent', { ...source, ...fields });
    if (answer.body !== 'createAgent') throw new Error(JSON.stringify(answer));
    return answer.createAgent.agentId;
  }

  /** Says something to an agent and waits for the end of the turn. */
  async says(agentId: number, text: string, variables: Readonly<Record<string, string>> = {}): Promise<Told> {
    return this.told(this.sends('sendMessage', { agentId, text, variables }));
  }

  /** Waits for the end of the turn that a request began. */
  async told(requestId: number): Promise<Told> {
    const last = await this.answer(requestId);
    if (last.body !== 'turnComplete') throw new Error(JSON.stringify(last));
    const frames = this.heard.filter((frame) => frame.requestId === requestId);
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
  async hears<K extends Body>(body: K): Promise<ServerFrameBodies[K]> {
    const frame = await this.until((heard) => heard.body === body);
    return (frame as unknown as ServerFrameBodies)[body];
  }

  /** Waits until a frame is there. */
  async until(wanted: (frame: ServerFrame) => boolean): Promise<ServerFrame> {
    for (;;) {
      const found = this.heard.find(wanted);
      if (found) return found;
      if (this.socket.readyState >= WebSocket.CLOSING)
        throw new Error(`closed after ${JSON.stringify(this.heard.at(-1))}`);
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
export interface Told extends Readonly<ServerFrameBodies['turnComplete']> {
  readonly frames: readonly ServerFrame[];
  readonly text: string;
  readonly calls: readonly ServerFrameBodies['toolCallNotification'][];
  readonly events: readonly ServerFrameBodies['nodeEvent'][];
  /** The path as `node:exit node:exit`. */
  readonly steps: string;
}

const unfinished: readonly Body[] = ['answerText', 'toolCallNotification', 'nodeEvent', 'modelProgress'];
const isFinal = ({ body }: ServerFrame): boolean => !unfinished.includes(body);

/** The error that an answer is, or a failed test. */
export function refusal(answer: ServerFrame): ServerFrameBodies['error'] {
  if (answer.body !== 'error') throw new Error(`no error, but ${JSON.stringify(answer)}`);
  return answer.error;
}
