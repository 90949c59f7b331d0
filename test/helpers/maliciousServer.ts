import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo, Socket } from 'node:net';
import { WebSocketServer, type WebSocket } from 'ws';
import { codes, type ClientFrame, type ServerFrameBodies } from '../../src/protocol/frames.gen.ts';
import { serverCodecs, type Subprotocol } from '../../src/protocol/codec/codec.ts';
import { serverFrame } from '../../src/protocol/codec/frame.ts';

/** The steps of a client's visit, in order; `done` is after them. */
export type Step =
  'connect' | 'agent' | 'turn' | 'models' | 'export' | 'search' | 'load' | 'cancel' | 'destroy' | 'done';

/** A limit that a client has a setting for. */
export type Limit = 'connect' | 'request' | 'idle' | 'reconnect' | 'frame' | 'answer' | 'pages';

/** One way to be malicious, or broken. What it does not say is as with an honest server. */
export interface Way {
  readonly name: string;
  /** Instead of the WebSocket handshake. */
  readonly handshake?: (socket: Socket, request: string) => void;
  /** Headers of the handshake's response to be changed. */
  readonly headers?: (headers: string[]) => void;
  /** Instead of sessionReady. */
  readonly greet?: (peer: Peer) => void;
  /** Instead of the answer to a request. */
  readonly answer?: { readonly [Body in ClientFrame['body']]?: (peer: Peer, requestId: number) => void };
  /** The step of the visit that fails; with `done` the client has to finish nevertheless. */
  readonly fails: Step;
  /** The limit whose setting the message names. */
  readonly limit?: Limit;
  /** Whether it keeps a client busy: one that does all in one thread does nothing else meanwhile. */
  readonly isHeavy?: boolean;
  /** Whether a client may as well finish, or fail at another step: what it sees depends on its WebSocket. */
  readonly isLenient?: boolean;
}

/** A client, as the server sees it. */
export class Peer {
  readonly socket: WebSocket;
  readonly raw: Socket;
  /** The number of the connection in its way, from 1. */
  readonly count: number;
  readonly #session: { seq: number; received: number };

  constructor(socket: WebSocket, raw: Socket, count: number, session: { seq: number; received: number }) {
    this.socket = socket;
    this.raw = raw;
    this.count = count;
    this.#session = session;
  }

  get codec() {
    return serverCodecs[(this.socket.protocol || 'turngraph.v1.json') as Subprotocol];
  }

  send<Body extends keyof ServerFrameBodies>(id: number, body: Body, fields?: Partial<ServerFrameBodies[Body]>): void {
    this.socket.send(this.codec.encode(serverFrame(id, this.#nextSeq(body), body, fields)));
  }

  /** Sends a JSON text, or bytes, as a whole message: by the codec, unless `binary` says otherwise. */
  sendData(data: string | Uint8Array, binary = this.codec.binary): void {
    this.socket.send(data, { binary });
  }

  /** Writes the start of a WebSocket frame that claims to have `bytes` bytes. */
  beginFrame(bytes: number, { fin = true, opcode = this.codec.binary ? 2 : 1 } = {}): void {
    const head = Buffer.alloc(bytes < 126 ? 2 : bytes < 65_536 ? 4 : 10);
    head[0] = (fin ? 0x80 : 0) | opcode;
    head[1] = bytes < 126 ? bytes : bytes < 65_536 ? 126 : 127;
    if (head[1] === 126) head.writeUInt16BE(bytes, 2);
    if (head[1] === 127) head.writeBigUInt64BE(BigInt(bytes), 2);
    this.raw.write(head);
  }

  /** Calls `write` as fast as the client reads, until the connection ends; many times more than a client should read. */
  flood(write: () => void, times = 100_000): void {
    let left = times;
    const next = (): void => {
      for (let count = 0; count < 32; count++) {
        if (left-- <= 0 || this.raw.destroyed || this.socket.readyState !== this.socket.OPEN) return;
        write();
      }
      if (this.raw.writableNeedDrain) this.raw.once('drain', next);
      else setImmediate(next);
    };
    next();
  }

  /** Calls `write` every 50 ms until the connection ends. */
  drip(write: () => void): void {
    const timer = setInterval(write, 50);
    this.raw.on('close', () => clearInterval(timer));
  }

  countRequest(): void {
    this.#session.received += 1;
  }

  resume(requestId: number): void {
    const response = { replayed: 0, requestsReceived: this.#session.received };
    this.socket.send(this.codec.encode(serverFrame(requestId, 0, 'resumeSession', response)));
  }

  #nextSeq(body: string): number {
    return body === 'sessionReady' ? 0 : ++this.#session.seq;
  }
}

const greet = (peer: Peer): void =>
  peer.send(0, 'sessionReady', { protocolVersion: 1, sessionId: 's1', resumeToken: 'key', serverVersion: '0.2.0' });
const turn = { agentId: 5, turnId: 1, nodeName: 'answer' };

/** What an honest server answers. */
const honest: NonNullable<Way['answer']> = {
  resumeSession: (peer, id) => peer.resume(id),
  createAgent: (peer, id) => peer.send(id, 'createAgent', { agentId: 5 }),
  sendMessage: (peer, id) => {
    peer.send(id, 'answerText', { ...turn, text: 'Hello!', isDelta: true });
    peer.send(id, 'turnComplete', { ...turn, status: 'SUCCESS' });
  },
  listModels: (peer, id) => peer.send(id, 'listModels'),
  exportDialog: (peer, id) => peer.send(id, 'exportDialog', { part: 1, of: 1, historyJson: '[]' }),
  searchStorage: (peer, id) => peer.send(id, 'searchStorage', { part: 1, of: 1, hitsJson: '[]' }),
  loadModel: (peer, id) => peer.send(id, 'loadModel'),
};

/** The first byte is of no WebSocket frame. */
const noise = Buffer.from(Array.from({ length: 4096 }, (_, index) => (index * 167 + 255) % 256));
const silent = (): void => {};
const httpStatus = (status: string, ...headers: readonly string[]) => ({
  handshake: (socket: Socket) =>
    void socket.end([`HTTP/1.1 ${status}`, ...headers, 'Content-Length: 0', '', ''].join('\r\n')),
});
/** Resets the connection. */
const reset = (peer: Peer): void => void peer.raw.resetAndDestroy();
const floodSocket = (socket: Socket, write: () => void): void => {
  const next = (): void => {
    for (let count = 0; count < 32 && !socket.destroyed; count++) write();
    if (!socket.destroyed) setTimeout(next, 5);
  };
  next();
};
/** A frame of the session in JSON, or bytes for the binary codec. */
const broken = (json: string) => (peer: Peer, id: number) =>
  peer.sendData(peer.codec.binary ? Buffer.from(json) : json.replace('ID', String(id)));
const oddCloseCodes = [1000, 1003, 1007, 1008, 1011, 1012, 1013, 1014, 3000, 4000, 4408, 4999];
const deep = (json: string): string => '['.repeat(200_000) + json + ']'.repeat(200_000);

/** The table. A client meets each of them in a visit of its own. */
const ways: readonly Way[] = [
  // The handshake.
  { name: 'accepts TCP and is silent', handshake: silent, fails: 'connect', limit: 'connect' },
  {
    name: 'drips the response of the handshake',
    handshake: (socket) => {
      socket.write('HTTP/1.1 101 Switching Protocols\r\nX-Slow: ');
      const timer = setInterval(() => socket.write('x'), 50);
      socket.on('close', () => clearInterval(timer));
    },
    fails: 'connect',
    limit: 'connect',
  },
  {
    name: 'sends headers for ever',
    handshake: (socket) => {
      socket.write('HTTP/1.1 101 Switching Protocols\r\n');
      floodSocket(socket, () => socket.write(`X-More: ${'x'.repeat(1000)}\r\n`));
    },
    fails: 'connect',
  },
  { name: 'answers with 401', ...httpStatus('401 Unauthorized'), fails: 'connect' },
  { name: 'answers with 404', ...httpStatus('404 Not Found'), fails: 'connect' },
  { name: 'answers with 500', ...httpStatus('500 Internal Server Error'), fails: 'connect' },
  { name: 'redirects to itself', ...httpStatus('302 Found', 'Location: /'), fails: 'connect' },
  {
    name: 'answers the handshake with random bytes',
    handshake: (socket) => void socket.end(noise),
    fails: 'connect',
  },
  {
    name: 'selects another subprotocol',
    headers: (headers) => {
      const index = headers.findIndex((line) => /^sec-websocket-protocol/i.test(line));
      headers[index] = 'Sec-WebSocket-Protocol: mqtt';
    },
    fails: 'connect',
    isLenient: true,
  },
  { name: 'accepts the handshake and is silent', greet: silent, fails: 'connect', limit: 'connect' },
  { name: 'greets with something else', greet: (peer) => peer.sendData('{"sessionReady":7}'), fails: 'connect' },
  { name: 'closes each connection at once', greet: (peer) => peer.socket.close(1011), fails: 'connect' },

  // Frames.
  {
    name: 'sends half a frame',
    answer: { createAgent: (peer) => (peer.beginFrame(1000), void peer.raw.write('{"requestId"')) },
    fails: 'agent',
    limit: 'idle',
  },
  {
    name: 'drips a frame',
    answer: {
      createAgent: (peer) => {
        peer.beginFrame(1_000_000);
        peer.drip(() => peer.raw.write(' '));
      },
    },
    fails: 'agent',
    limit: 'idle',
  },
  {
    name: 'continues a frame for ever',
    answer: {
      createAgent: (peer) => {
        const piece = Buffer.alloc(16_000, 32);
        let opcode = peer.codec.binary ? 2 : 1;
        peer.flood(() => {
          peer.beginFrame(piece.length, { fin: false, opcode });
          peer.raw.write(piece);
          opcode = 0;
        }, 4000);
      },
    },
    fails: 'agent',
    isHeavy: true,
    limit: 'frame',
  },
  {
    name: 'continues a frame with nothing',
    answer: {
      createAgent: (peer) => {
        peer.beginFrame(1, { fin: false });
        peer.raw.write(' ');
        peer.drip(() => peer.beginFrame(0, { fin: false, opcode: 0 }));
      },
    },
    fails: 'agent',
    limit: 'idle',
  },
  {
    name: 'sends a frame of 100 MB',
    answer: {
      createAgent: (peer) => {
        const piece = Buffer.alloc(100_000, 32);
        peer.beginFrame(1000 * piece.length);
        peer.flood(() => peer.raw.write(piece), 1000);
      },
    },
    fails: 'agent',
    isHeavy: true,
    limit: 'frame',
  },
  {
    name: 'sends random bytes',
    answer: { createAgent: (peer) => void peer.raw.write(noise) },
    fails: 'agent',
  },
  {
    name: 'sends text where bytes are due, and the reverse',
    answer: { createAgent: (peer) => peer.sendData(Buffer.from('\u0001{"requestId":1}'), !peer.codec.binary) },
    fails: 'agent',
  },
  {
    name: 'sends a frame that cannot be read',
    answer: { createAgent: broken('{"requestId":ID,"createAgent":{"agentId":') },
    fails: 'agent',
  },
  {
    name: 'sends a list in the place of a frame',
    answer: { createAgent: broken('[{"requestId":ID}]') },
    fails: 'agent',
  },
  {
    name: 'sends fields of the wrong type',
    answer: { createAgent: broken('{"requestId":ID,"seq":1,"createAgent":{"agentId":"five","warnings":7}}') },
    fails: 'agent',
    isLenient: true,
  },
  {
    name: 'nests a frame deeply',
    answer: {
      createAgent: (peer, id) =>
        broken(`{"requestId":${id},"more":${deep('1')},"createAgent":{"agentId":5}}`)(peer, id),
    },
    isHeavy: true,
    fails: 'agent',
    isLenient: true,
  },
  {
    name: 'sends a frame full of escapes',
    answer: {
      sendMessage: (peer, id) => {
        // What a client does with each of them on the whole frame takes minutes.
        const text = '🦊"[{\\'.repeat(20_000);
        if (peer.codec.binary) peer.send(id, 'answerText', { ...turn, text });
        else {
          const escaped = JSON.stringify(text).replaceAll('🦊', '\\ud83e\\udd8a');
          peer.sendData(`{"requestId":${id},"answerText":{"text":${escaped}}}`);
        }
        honest.sendMessage?.(peer, id);
      },
    },
    isHeavy: true,
    fails: 'done',
  },
  {
    name: 'leaves frames out',
    answer: { createAgent: (peer, id) => peer.sendData(jsonOrEmpty(peer, `{"requestId":${id},"seq":9,"ack":{}}`)) },
    fails: 'agent',
  },
  {
    name: 'answers another request',
    answer: { createAgent: (peer, id) => peer.send(id + 1000, 'createAgent', { agentId: 5 }) },
    fails: 'agent',
    limit: 'idle',
  },
  {
    name: 'answers twice',
    answer: {
      createAgent: (peer, id) => [1, 2].forEach(() => honest.createAgent?.(peer, id)),
      sendMessage: (peer, id) => [1, 2].forEach(() => honest.sendMessage?.(peer, id)),
      listModels: (peer, id) => [1, 2].forEach(() => honest.listModels?.(peer, id)),
    },
    fails: 'done',
  },
  {
    name: 'answers with the errors of nobody',
    answer: {
      createAgent: (peer) =>
        peer.drip(() => peer.send(0, 'error', { code: codes.INTERNAL, name: 'INTERNAL', message: 'nobody asked' })),
    },
    fails: 'agent',
    limit: 'idle',
  },
  {
    name: 'pings for ever and reads nothing',
    answer: {
      createAgent: (peer) => {
        peer.raw.pause();
        peer.flood(() => peer.socket.ping('x'.repeat(100)));
      },
    },
    fails: 'agent',
    isHeavy: true,
  },
  {
    name: 'answers neither pings nor the close',
    answer: { destroyAgent: (peer, id) => (peer.send(id, 'ack'), peer.raw.removeAllListeners('data')) },
    fails: 'done',
  },

  // Connections that end.
  {
    name: 'closes with another odd code each time',
    answer: { createAgent: (peer) => peer.socket.close(oddCloseCodes[peer.count % oddCloseCodes.length]) },
    greet: (peer) => (peer.count === 1 ? greet(peer) : peer.socket.close(oddCloseCodes[peer.count % 12])),
    fails: 'agent',
  },
  {
    name: 'resets the connection, and each one after it',
    answer: { createAgent: reset, resumeSession: reset },
    fails: 'agent',
  },
  {
    name: 'resumes the session and closes again, for ever',
    answer: {
      createAgent: (peer) => peer.socket.close(1011),
      resumeSession: (peer, id) => (peer.resume(id), peer.socket.close(1011)),
    },
    fails: 'agent',
    limit: 'reconnect',
  },
  {
    name: 'resumes the session with one new frame and closes again, for ever',
    answer: {
      createAgent: (peer) => peer.socket.close(1011),
      resumeSession: (peer, id) => (peer.resume(id), peer.send(0, 'ack'), peer.socket.close(1011)),
    },
    fails: 'agent',
  },
  {
    name: 'begins a new session each time, and closes it',
    answer: {
      sendMessage: reset,
      resumeSession: (peer, id) => {
        peer.send(id, 'error', { code: codes.SESSION_NOT_RESUMABLE, name: 'SESSION_NOT_RESUMABLE', message: 'gone' });
        reset(peer);
      },
    },
    fails: 'turn',
  },

  // Requests.
  { name: 'never creates an agent', answer: { createAgent: silent }, fails: 'agent', limit: 'idle' },
  { name: 'never answers a message', answer: { sendMessage: silent }, fails: 'turn', limit: 'idle' },
  {
    name: 'never completes a turn',
    answer: { sendMessage: (peer, id) => peer.send(id, 'answerText', { ...turn, text: 'Hel', isDelta: true }) },
    fails: 'turn',
    limit: 'idle',
  },
  {
    name: 'streams tokens for ever',
    answer: {
      sendMessage: (peer, id) =>
        peer.flood(() => peer.send(id, 'answerText', { ...turn, text: 'x'.repeat(1000), isDelta: true })),
    },
    isHeavy: true,
    fails: 'turn',
    limit: 'answer',
  },
  {
    name: 'sends an event in endless parts',
    answer: {
      sendMessage: (peer, id) => {
        const event = { ...turn, eventType: 'node_started', payloadJson: ' '.repeat(1000), of: 4_000_000_000 };
        let part = 0;
        peer.flood(() => peer.send(id, 'nodeEvent', { ...event, part: ++part }));
      },
    },
    isHeavy: true,
    fails: 'turn',
    limit: 'answer',
  },
  {
    name: 'sends calls and events that are no JSON',
    answer: {
      sendMessage: (peer, id) => {
        peer.send(id, 'toolCallNotification', { ...turn, callId: 'c', toolName: 't', typedArgumentsJson: '{"a":' });
        peer.send(id, 'nodeEvent', { ...turn, eventType: 'e', payloadJson: '{"a":', part: 1, of: 1 });
        peer.send(id, 'turnComplete', { ...turn, status: 'SUCCESS', debugInfo: '{"a":' });
      },
    },
    fails: 'turn',
    isLenient: true,
  },
  { name: 'never lists models', answer: { listModels: silent }, fails: 'models', limit: 'request' },
  {
    name: 'lists models on page after page',
    answer: { listModels: (peer, id) => peer.send(id, 'listModels', { nextPageToken: `${(page += 1)}` }) },
    fails: 'models',
    limit: 'pages',
  },
  {
    name: 'lists the same page for ever',
    answer: { listModels: (peer, id) => peer.send(id, 'listModels', { nextPageToken: 'again' }) },
    fails: 'models',
    limit: 'pages',
  },
  { name: 'never exports a dialog', answer: { exportDialog: silent }, fails: 'export', limit: 'request' },
  {
    name: 'exports a dialog in endless parts',
    answer: {
      exportDialog: (peer, id) => {
        const part = { historyJson: ' '.repeat(1000), part: 1, of: 4_000_000_000 };
        peer.flood(() => peer.send(id, 'exportDialog', part));
      },
    },
    isHeavy: true,
    fails: 'export',
    limit: 'answer',
  },
  { name: 'never finds an entry', answer: { searchStorage: silent }, fails: 'search', limit: 'idle' },
  {
    name: 'finds entries that are no JSON',
    answer: { searchStorage: (peer, id) => peer.send(id, 'searchStorage', { part: 1, of: 1, hitsJson: '[{"id":' }) },
    fails: 'search',
    isLenient: true,
  },
  {
    name: 'reports the same progress for ever',
    answer: {
      loadModel: (peer, id) => peer.drip(() => peer.send(id, 'modelProgress', { modelName: 'm', fraction: 0.5 })),
    },
    fails: 'load',
    limit: 'idle',
  },
  { name: 'never cancels a turn', answer: { cancelTurn: silent }, fails: 'cancel', limit: 'request' },
  { name: 'never destroys an agent', answer: { destroyAgent: silent }, fails: 'destroy', limit: 'request' },
];

let page = 0;
const jsonOrEmpty = (peer: Peer, json: string): string | Uint8Array =>
  peer.codec.binary ? peer.codec.encode(serverFrame(1, 9, 'ack')) : json;

/** A server for each way. */
export class MaliciousServers implements AsyncDisposable {
  /** The ways that keep a client busy, by index. */
  readonly heavy = ways.flatMap(({ isHeavy }, way) => (isHeavy ? [way] : []));
  /** The URL of each way, in the order of the table. */
  readonly urls: readonly string[];
  /** How often a client has connected to each way. */
  readonly connections: number[] = ways.map(() => 0);
  readonly #servers: ReturnType<typeof createServer>[] = [];
  readonly #sockets = new Set<Socket>();

  private constructor(servers: ReturnType<typeof createServer>[]) {
    this.#servers = servers;
    this.urls = servers.map((server) => `ws://127.0.0.1:${(server.address() as AddressInfo).port}/`);
  }

  static async start(): Promise<MaliciousServers> {
    const servers = ways.map(() => createServer());
    await Promise.all(servers.map((server) => once(server.listen(0, '127.0.0.1'), 'listening')));
    const all = new MaliciousServers(servers);
    for (const [index, way] of ways.entries()) all.#serve(way, index);
    return all;
  }

  #serve(way: Way, index: number): void {
    const server = this.#servers[index];
    const sockets = new WebSocketServer({ noServer: true });
    const session = { seq: 0, received: 0 };
    sockets.on('headers', (headers) => way.headers?.(headers));
    server?.on('connection', (socket: Socket) => {
      this.#sockets.add(socket);
      socket.on('error', () => {}).on('close', () => this.#sockets.delete(socket));
    });
    server?.on('upgrade', (request, socket: Socket, head) => {
      const count = (this.connections[index] = (this.connections[index] ?? 0) + 1);
      if (way.handshake) return way.handshake(socket, request.url ?? '');
      sockets.handleUpgrade(request, socket, head, (webSocket) =>
        this.#talk(way, new Peer(webSocket, socket, count, session)),
      );
    });
  }

  #talk(way: Way, peer: Peer): void {
    peer.socket.on('error', () => {});
    peer.socket.on('message', (data: Buffer, isBinary) => {
      const decoded = peer.codec.decode(isBinary ? data : data.toString());
      if (!decoded.ok) {
        const { code, name, message } = decoded.fault;
        return peer.send(decoded.requestId, 'error', { code, name, message });
      }
      const { body, requestId } = decoded.frame;
      if (body !== 'resumeSession') peer.countRequest();
      const answer = way.answer?.[body] ?? honest[body] ?? ((to: Peer) => to.send(requestId, 'ack'));
      if (peer.socket.readyState === peer.socket.OPEN) answer(peer, requestId);
    });
    (way.greet ?? greet)(peer);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const socket of this.#sockets) socket.destroy();
    await Promise.all(this.#servers.map((server) => new Promise((resolve) => server.close(resolve))));
  }
}

/** What a visit came to: the step that failed and its message, or `done`. A visit without an outcome hangs. */
export interface Outcome {
  readonly way: number;
  readonly step: Step;
  /** Code and sentence of an error of the client's own kind; what is of another kind begins with UNEXPECTED. */
  readonly message?: string;
}

/** What is wrong with a client's visits, a line each. `settings` has the names of the client's settings. */
export function findFaults(
  outcomes: readonly Outcome[],
  settings: Readonly<Partial<Record<Limit, string>>>,
): readonly string[] {
  return ways.flatMap((way, index) => {
    // Some clients have no list in pages.
    if (way.limit === 'pages' && settings.pages === undefined) return [];
    const outcome = outcomes.find((each) => each.way === index);
    if (!outcome) return [`${way.name}: hangs`];
    const { step, message = '' } = outcome;
    const said = `${way.name}: ${step} ${message}`;
    if (message.startsWith('UNEXPECTED')) return [said];
    if (step !== way.fails && !way.isLenient) return [`${said} (${way.fails} has to fail)`];
    const setting = way.limit && settings[way.limit];
    // Which of the two comes first depends on the speed of the machine.
    const other = way.limit === 'reconnect' ? settings.idle : setting;
    const isNamed = [setting, other].some((name) => name === undefined || message.includes(name));
    return isNamed ? [] : [`${said} (does not name ${setting})`];
  });
}
