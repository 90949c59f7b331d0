import type { IncomingMessage, Server as HttpServer } from 'node:http';
import type { Duplex } from 'node:stream';
import { WebSocketServer, type Server as SocketServer } from 'ws';
import { closeCodes } from '../../protocol/closeCodes.ts';
import { serverCodecs } from '../../protocol/codec/codec.ts';
import { Fault, truncateMessage } from '../../protocol/fault.ts';
import { maxFrameBytes } from '../../protocol/frameSize.ts';
import type { ServerOptions } from '../config.ts';
import { countError } from '../metrics/metrics.ts';
import type { SendBufferLimits } from '../sendBuffer.ts';
import type { ServerContext } from '../session/session.ts';
import type { Sessions } from '../session/sessions.ts';
import { createAccessCheck, namesSession, splitTarget, type AccessCheck } from './access.ts';
import { chooseSubprotocol, ClientConnection, ClientSocket, coalesceWrites, rejectConnection } from './connection.ts';
import { ignoreUpgrade, isWebSocketRequest, rejectUpgrade } from './http.ts';
import type { LogRejection } from './rejectionLog.ts';
import { anonymousSockets, rateLimit } from './socketLimits.ts';

const maxRefusedOrigins = 100;

export interface AcceptorParts {
  readonly context: ServerContext;
  readonly options: ServerOptions;
  readonly sessions: Sessions;
  readonly sendBuffer: SendBufferLimits;
  readonly logRejection: LogRejection;
  /** How many requests run that count as connections: those of the OpenAI-compatible API. */
  readonly runningRequests: () => number;
}

/** Decides which sockets become connections of clients, and knows those that have. */
export class Acceptor {
  readonly connections = new Set<ClientConnection>();
  readonly #parts: AcceptorParts;
  readonly #sockets = createSocketServer();
  /** A new socket is one of these until it has shown the token, or what it asks for may begin. */
  readonly anonymous: ReturnType<typeof anonymousSockets>;
  readonly #findDenial: AccessCheck;
  readonly #isRateAllowed: () => boolean;
  readonly #refusedOrigins = new Set<string>();

  constructor(parts: AcceptorParts) {
    const { options, logRejection } = parts;
    this.#parts = parts;
    this.anonymous = anonymousSockets(2 * options.maxConnections, ({ remoteAddress: address }) =>
      logRejection({ address }, 'oldest socket without a token or a WebSocket closed: too many are open'),
    );
    this.#findDenial = createAccessCheck(options);
    this.#isRateAllowed = rateLimit(options.maxConnectionRate);
  }

  /** Checks a request; the socket of one with the token is no longer anonymous. */
  readonly checkAccess: AccessCheck = (request) => {
    const denied = this.#findDenial(request);
    if (!denied && this.#parts.options.token !== '') this.anonymous.remove(request.socket);
    if (denied?.origin !== undefined) this.#warnOfOrigin(denied.origin, denied.reason);
    return denied;
  };

  /** Logs a refused origin once: the owner of the page sees no reason in the browser. */
  #warnOfOrigin(origin: string, reason: string): void {
    if (this.#refusedOrigins.has(origin) || this.#refusedOrigins.size >= maxRefusedOrigins) return;
    this.#refusedOrigins.add(origin);
    this.#parts.context.log.warn(truncateMessage(reason));
  }

  /** Why no more connections are accepted now; undefined: there is room. */
  readonly findFull = (): string | undefined => {
    const { options, runningRequests } = this.#parts;
    return this.connections.size + runningRequests() >= options.maxConnections
      ? `${options.maxConnections} connections are open, and more are not allowed`
      : undefined;
  };

  /** Counts a new connection or request. Returns why it may not begin; undefined: it may. */
  readonly checkCapacity = (): string | undefined =>
    this.#isRateAllowed()
      ? this.findFull()
      : `more than ${this.#parts.options.maxConnectionRate} connections a second are not allowed; wait a little`;

  /** Answers a request to upgrade its socket: with a WebSocket, or with why not. */
  upgrade(server: HttpServer, request: IncomingMessage, socket: Duplex, head: Buffer): void {
    if (!isWebSocketRequest(request)) return void ignoreUpgrade(server, request, socket, head);
    const { context, options, sessions, logRejection } = this.#parts;
    const reject = (status: number, reason: string): void => {
      context.metrics.add('turngraph_handshakes_refused_total', { status: String(status) });
      const address = request.socket.remoteAddress;
      logRejection({ address, status, reason: truncateMessage(reason) }, 'handshake rejected');
      rejectUpgrade(socket, status, reason);
    };
    const denied = this.checkAccess(request);
    if (denied) return reject(denied.status, denied.reason);
    if (splitTarget(request)[0] !== '/') return reject(404, 'the WebSocket is at /');
    if (context.closing.aborted) return reject(503, 'the server is shutting down');
    if (this.#sockets.clients.size >= 2 * options.maxConnections) return reject(503, 'too many connections are open');
    // A session of this server is on no other one: its client has to try again here.
    const isElsewhere = options.behindBalancer && !namesSession(request, sessions.options.serverName);
    const excess = isElsewhere ? this.checkCapacity() : undefined;
    if (excess) return reject(503, excess);
    this.anonymous.remove(request.socket);
    const findExcess = isElsewhere ? () => undefined : this.checkCapacity;
    this.#sockets.handleUpgrade(request, socket, head, (opened) => this.#accept(opened, request, findExcess));
  }

  #accept(socket: ClientSocket, request: IncomingMessage, findExcess: () => string | undefined): void {
    const { context, sessions, sendBuffer, logRejection } = this.#parts;
    const subprotocol = chooseSubprotocol(offeredBy(request));
    const reject = (fault: Fault, closeCode: number): void => {
      countError(context.metrics, 'connection', fault);
      const address = request.socket.remoteAddress;
      logRejection({ address, code: fault.code, reason: fault.message }, 'connection rejected');
      rejectConnection(socket, subprotocol ?? 'turngraph.v1.json', fault, closeCode);
    };
    if (!subprotocol) return reject(unknownSubprotocol(), closeCodes.unknownSubprotocol);
    const excess = findExcess();
    if (excess) return reject(new Fault('LIMIT_EXCEEDED', excess), closeCodes.limitExceeded);
    const coalesce = coalesceWrites(request.socket);
    const connection = new ClientConnection(socket, { subprotocol, sessions, sendBuffer, coalesce });
    this.connections.add(connection);
    socket.on('close', () => this.connections.delete(connection));
  }
}

const createSocketServer = (): SocketServer<typeof ClientSocket> =>
  new WebSocketServer({
    noServer: true,
    maxPayload: maxFrameBytes,
    perMessageDeflate: false,
    // The codec validates UTF-8 and answers with an error; ws would close the socket.
    skipUTF8Validation: true,
    // Each part of an unfinished message keeps the chunk in which it came, of up to 64 KiB.
    maxFragments: 256,
    maxBufferedChunks: 16_384,
    WebSocket: ClientSocket,
    // The client fails the handshake without a reason if none of its subprotocols is chosen: choose one, then reject it.
    handleProtocols: (offered) => chooseSubprotocol(offered) ?? [...offered][0] ?? false,
  });

const offeredBy = ({ headers }: IncomingMessage): ReadonlySet<string> => {
  const names = (headers['sec-websocket-protocol'] ?? '').split(',').map((name) => name.trim());
  return new Set(names.filter((name) => name !== ''));
};

const unknownSubprotocol = (): Fault =>
  new Fault(
    'PROTOCOL_VERSION_MISMATCH',
    `this server speaks ${Object.keys(serverCodecs).join(' and ')}; offer one of them, or none for JSON`,
  );
