import { randomBytes } from 'node:crypto';
import { setMaxListeners } from 'node:events';
import type { IncomingMessage, Server as HttpServer } from 'node:http';
import type { AddressInfo, Socket } from 'node:net';
import { resolve } from 'node:path';
import type { Duplex } from 'node:stream';
import { setTimeout as wait } from 'node:timers/promises';
import { WebSocketServer, type Server as SocketServer } from 'ws';
import { closeCodes } from '../../protocol/closeCodes.ts';
import type { ServerOptions } from '../config.ts';
import { Fault, truncateMessage } from '../../protocol/fault.ts';
import { maxFrameBytes } from '../../protocol/frameSize.ts';
import { countError } from '../metrics/metrics.ts';
import type { ServerContext } from '../session/session.ts';
import { serverCodecs } from '../../protocol/codec/codec.ts';
import { sharedAdmission } from '../../base/eventLoop.ts';
import { RequestQueues } from '../session/requestQueue.ts';
import { Sessions } from '../session/sessions.ts';
import { bind } from './bind.ts';
import { coalesceWrites, rejectConnection, chooseSubprotocol, ClientConnection, ClientSocket } from './connection.ts';
import { createAccessCheck, isLoopback, namesSession, splitTarget, type AccessCheck } from './access.ts';
import { AnonymousSockets, rateLimit } from './socketLimits.ts';
import { answerHttp, ignoreUpgrade, rejectUpgrade } from './http.ts';
import { defaultSendBufferLimits, type SendBufferLimits } from '../sendBuffer.ts';
import { createRejectionLog, createRequestLog } from './rejectionLog.ts';

const pingMs = 30_000;

/** A running server. Disposing of it gives running turns 5 s to end, closes all connections and frees all models. */
export interface TurngraphServer extends AsyncDisposable {
  /** The TCP port it listens on. */
  readonly port: number;
  /** ws://HOST:PORT */
  readonly url: string;
}

/** Settings that are no flags of `serve`. */
export interface ListenSettings {
  /** Aborted by the server with SERVER_SHUTTING_DOWN when it begins to shut down. */
  readonly closing: AbortController;
  /** Backpressure of each connection; default: `defaultSendBufferLimits`. */
  readonly sendBuffer?: SendBufferLimits;
  /** Milliseconds that running turns get to end at shutdown, before they are cancelled; default: 5,000. */
  readonly graceMs?: number;
}

/**
 * Starts the WebSocket server: accepts clients on "/" and answers plain HTTP on the same port.
 * @throws Fault UNAUTHORIZED when the host is not a loopback address and no token is set; Error when the port is taken.
 */
export async function listen(
  context: ServerContext,
  options: ServerOptions,
  { closing, sendBuffer = defaultSendBufferLimits, graceMs = 5_000 }: ListenSettings,
): Promise<TurngraphServer> {
  const { host, token, maxConnections, maxConnectionRate } = options;
  if (token === '' && !isLoopback(host)) {
    const hint = 'set --token or TURNGRAPH_TOKEN';
    throw new Fault('UNAUTHORIZED', `--host ${host} can be reached from other machines: ${hint}`);
  }
  // Each load of a pinned model adds a listener; Node warns of a leak above ten.
  setMaxListeners(0, closing.signal);
  const connections = new Set<ClientConnection>();
  const isRateAllowed = rateLimit(maxConnectionRate);
  const sockets = createSocketServer();
  const requestQueues = new RequestQueues({
    connectionBytes: options.maxQueuedBytes,
    totalBytes: options.maxTotalQueuedBytes,
  });
  const logRejection = createRejectionLog(context.log);
  // A log of its own: one client with many wrong requests must not suppress the lines about others.
  const logRefusedRequest = createRejectionLog(context.log);
  const sessions = new Sessions({
    serverName: options.serverName || randomBytes(4).toString('hex'),
    context,
    requestQueues,
    admission: sharedAdmission,
    graceMs: options.resumeGrace * 1000,
    maxReplayBytes: options.maxReplayBytes,
    maxDetached: maxConnections,
    logRequests: (session) => createRequestLog(session, context.log, logRefusedRequest),
  });

  const anonymous = new AnonymousSockets(2 * maxConnections, ({ remoteAddress: address }) =>
    logRejection({ address }, 'oldest socket without a token or a WebSocket closed: too many are open'),
  );

  const findDenial = createAccessCheck(options);
  const checkAccess: AccessCheck = (request) => {
    const denied = findDenial(request);
    if (!denied && token !== '') anonymous.remove(request.socket);
    return denied;
  };

  const onAdmitted = (socket: Socket): void => anonymous.remove(socket);
  // Imported on demand, as few servers have it.
  const api = options.openai
    ? new (await import('../openai/api.ts')).OpenAiApi({
        context,
        findExcess: () => checkCapacity(),
        onAdmitted,
        sendBuffer,
        onRefused: (facts) => logRefusedRequest(facts, 'request of the OpenAI-compatible API refused'),
      })
    : undefined;

  const findFull = (): string | undefined =>
    connections.size + (api?.running ?? 0) >= maxConnections
      ? `${maxConnections} connections are open, and more are not allowed`
      : undefined;
  const checkCapacity = (): string | undefined =>
    isRateAllowed() ? findFull() : `more than ${maxConnectionRate} connections a second are not allowed; wait a little`;

  const accept = (socket: ClientSocket, request: IncomingMessage, findExcess = checkCapacity): void => {
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
    const connection = new ClientConnection(socket, { subprotocol, sessions, pingMs, sendBuffer, coalesce });
    connections.add(connection);
    socket.on('close', () => connections.delete(connection));
  };

  const upgrade = (server: HttpServer, request: IncomingMessage, socket: Duplex, head: Buffer): void => {
    if (request.headers.upgrade?.toLowerCase() !== 'websocket')
      return void ignoreUpgrade(server, request, socket, head);
    const reject = (status: number, reason: string): void => {
      context.metrics.add('turngraph_handshakes_refused_total', { status: String(status) });
      const address = request.socket.remoteAddress;
      logRejection({ address, status, reason: truncateMessage(reason) }, 'handshake rejected');
      rejectUpgrade(socket, status, reason);
    };
    const denied = checkAccess(request);
    if (denied) return reject(denied.status, denied.reason);
    if (splitTarget(request)[0] !== '/') return reject(404, 'the WebSocket is at /');
    if (closing.signal.aborted) return reject(503, 'the server is shutting down');
    if (sockets.clients.size >= 2 * maxConnections) return reject(503, 'too many connections are open');
    // A session of this server is on no other one: its client has to try again here.
    const isElsewhere = options.behindBalancer && !namesSession(request, sessions.options.serverName);
    const excess = isElsewhere ? checkCapacity() : undefined;
    if (excess) return reject(503, excess);
    anonymous.remove(request.socket);
    const findExcess = isElsewhere ? () => undefined : checkCapacity;
    sockets.handleUpgrade(request, socket, head, (opened) => accept(opened, request, findExcess));
  };

  context.metrics.onScrape((set) => {
    const outputs = [...[...connections].map(({ output }) => output), ...(api?.outputs ?? [])];
    set('turngraph_connections', {}, connections.size);
    set(
      'turngraph_unsent_bytes',
      {},
      outputs.reduce((sum, { unsent }) => sum + unsent, 0),
    );
    set('turngraph_detached_sessions', {}, sessions.detached);
    set('turngraph_replay_bytes', {}, sessions.replayBytes);
    set('turngraph_queued_request_bytes', {}, requestQueues.bytes);
    set('turngraph_paused_connections', {}, requestQueues.pausedConnections);
    set('turngraph_slow_readers', {}, outputs.filter((output) => output.drained()).length);
  });

  const servers = await bind(options, (server) => {
    const answer = answerHttp(checkAccess, context, { api, findFull });
    // Without the last two, Node asks for the body of a request, or answers it itself.
    for (const event of ['request', 'checkContinue', 'checkExpectation'] as const) server.on(event, answer);
    server.on('connection', (socket) => anonymous.add(socket));
    server.on('upgrade', (...args) => upgrade(server, ...args));
  });
  // Without a listener Node ends the process, for example when no file handle is free for a new connection.
  for (const server of servers)
    server.on('error', ({ message: reason }) => logRejection({ reason }, 'connection not accepted'));
  const { port } = servers[0].address() as AddressInfo;
  const url = `ws://${host.includes(':') ? `[${host}]` : host}:${port}`;
  context.log.info({ url, port, host, ...pathsOf(options) }, 'listening');

  return {
    port,
    url,
    async [Symbol.asyncDispose]() {
      closing.abort(new Fault('SERVER_SHUTTING_DOWN', 'the server is shutting down; connect again later'));
      context.log.info({ connections: connections.size }, 'shutting down');
      // Downloads are not waited for: the next one resumes from the partial file.
      await context.downloads[Symbol.asyncDispose]();
      // No client can resume them now, so nothing waits for their turns.
      void sessions.endDetached('the server shuts down');
      await Promise.race([Promise.all([sessions.idle(), api?.idle()]), wait(graceMs, undefined, { ref: false })]);
      await Promise.all(
        [...connections].map((connection) => connection.close(closeCodes.goingAway, 'the server shuts down')),
      );
      await sessions[Symbol.asyncDispose]();
      await api?.[Symbol.asyncDispose]();
      await Promise.all(servers.map(closeHttpServer));
      for (const part of [context.vectors, ...Object.values(context.pools)]) await part[Symbol.asyncDispose]();
    },
  };
}

// Absolute, because the working directory of a started server is not always known.
const pathsOf = ({ graphs, models, catalogue, cache, storageRoot }: ServerOptions): object => ({
  graphs: resolve(graphs),
  models: resolve(models),
  catalogue: resolve(catalogue),
  cache: resolve(cache),
  storageRoot: resolve(storageRoot || graphs),
});

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
    // The client fails the handshake without a reason if none of its subprotocols is chosen: choose one, then reject
    // it.
    handleProtocols: (offered) => chooseSubprotocol(offered) ?? [...offered][0] ?? false,
  });

const closeHttpServer = (server: HttpServer): Promise<unknown> => {
  const closed = new Promise((done) => server.close(done));
  // Closes idle keep-alive connections; upgraded sockets are not among them.
  server.closeAllConnections();
  return closed;
};

const offeredBy = ({ headers }: IncomingMessage): ReadonlySet<string> => {
  const names = (headers['sec-websocket-protocol'] ?? '').split(',').map((name) => name.trim());
  return new Set(names.filter((name) => name !== ''));
};

const unknownSubprotocol = (): Fault =>
  new Fault(
    'PROTOCOL_VERSION_MISMATCH',
    `this server speaks ${Object.keys(serverCodecs).join(' and ')}; offer one of them, or none for JSON`,
  );
