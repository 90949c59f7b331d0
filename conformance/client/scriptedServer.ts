import { once } from 'node:events';
import { createServer, type IncomingMessage, type Server } from 'node:http';
import type { AddressInfo, Socket } from 'node:net';
import { WebSocketServer } from 'ws';
import { serverCodecs, type Subprotocol } from '../../src/protocol/codec/codec.ts';
import { ScriptedConnection } from './scriptedConnection.ts';
import { ScriptedSession } from './scriptedSession.ts';

// PROTOCOL.md, "Frame sizes".
const maxFrameBytes = 1024 * 1024;

/** What a handshake of a client has asked for. */
export interface ClientHandshake {
  readonly path: string;
  readonly authorization: string | undefined;
  /** The subprotocols that it offers, in order. */
  readonly offered: readonly string[];
}

/** How the scripted server answers a handshake. */
export type HandshakeAnswer =
  | { readonly kind: 'refuse'; readonly status: number; readonly reason: string }
  | {
      readonly kind: 'accept';
      /** Milliseconds before the response. */
      readonly delayMs?: number;
      /** Says what is sent first; default: SessionReady. */
      readonly greet?: (connection: ScriptedConnection) => void;
    };

/** Receives the handshakes of a client. */
export interface HandshakeListener {
  /** Decides about a handshake. */
  answer(handshake: ClientHandshake): HandshakeAnswer;
  /** A connection is open; undefined: it was refused. Called before the first frame is sent. */
  opened(connection: ScriptedConnection | undefined): void;
}

/** A WebSocket server that does what a scenario says, right or wrong. */
export class ScriptedServer implements AsyncDisposable {
  readonly url: string;
  readonly #http: Server;
  readonly #sockets: ReadonlySet<Socket>;

  private constructor(http: Server, sockets: ReadonlySet<Socket>) {
    this.#http = http;
    this.#sockets = sockets;
    this.url = `ws://127.0.0.1:${(http.address() as AddressInfo).port}`;
  }

  /** Starts a server on a free port of the loopback address. */
  static async start(listener: HandshakeListener): Promise<ScriptedServer> {
    const http = createServer((_, response) => response.writeHead(404).end('{"error":"not found"}'));
    const sockets = new WebSocketServer({
      noServer: true,
      maxPayload: maxFrameBytes,
      perMessageDeflate: false,
      // The scripted connection answers pings between its own frames.
      autoPong: false,
      handleProtocols: (offered) => selectSubprotocol([...offered]) ?? [...offered][0] ?? false,
    });
    const open = new Set<Socket>();
    http.on('connection', (socket: Socket) => {
      open.add(socket);
      socket.on('close', () => open.delete(socket));
    });
    http.on('upgrade', (request: IncomingMessage, socket: Socket, head: Buffer) => {
      void upgrade(sockets, listener, request, socket, head);
    });
    http.listen(0, '127.0.0.1');
    await once(http, 'listening');
    return new ScriptedServer(http, open);
  }

  /** Closes the server and all its connections. */
  async [Symbol.asyncDispose](): Promise<void> {
    const closed = once(this.#http, 'close');
    this.#http.close();
    for (const socket of this.#sockets) socket.destroy();
    await closed;
  }
}

/** The first offered subprotocol that the server supports. */
function selectSubprotocol(offered: readonly string[]): Subprotocol | undefined {
  return offered.find((name): name is Subprotocol => Object.hasOwn(serverCodecs, name));
}

async function upgrade(
  sockets: WebSocketServer,
  listener: HandshakeListener,
  request: IncomingMessage,
  socket: Socket,
  head: Buffer,
): Promise<void> {
  // A client may break the connection at any time.
  socket.on('error', () => {});
  socket.setNoDelay(true);
  const { headers, url = '' } = request;
  const offered = (headers['sec-websocket-protocol'] ?? '').split(',').map((name) => name.trim());
  const answer = listener.answer({ path: url, authorization: headers.authorization, offered: offered.filter(Boolean) });
  if (answer.kind === 'refuse') {
    const body = JSON.stringify({ error: answer.reason });
    const head = `HTTP/1.1 ${answer.status} ${answer.reason}\r\nContent-Type: application/json\r\nContent-Length: ${body.length}`;
    socket.end(`${head}\r\nConnection: close\r\n\r\n${body}`);
    return listener.opened(undefined);
  }
  if (answer.delayMs) await new Promise((resolve) => setTimeout(resolve, answer.delayMs));
  sockets.handleUpgrade(request, socket, head, (webSocket) => {
    const subprotocol = selectSubprotocol(offered) ?? 'turngraph.v1.json';
    const connection = new ScriptedConnection(webSocket, socket, {
      subprotocol,
      session: new ScriptedSession(),
      path: url,
    });
    listener.opened(connection);
    (answer.greet ?? greet)(connection);
  });
}

// Sends SessionReady, as a server does first.
function greet(connection: ScriptedConnection): void {
  const { id: sessionId, token: resumeToken } = connection.session;
  connection.sendUncounted(0, 'sessionReady', { protocolVersion: 1, sessionId, resumeToken, serverVersion: '9.9.9' });
}
