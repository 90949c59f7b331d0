import { setMaxListeners } from 'node:events';
import type { IncomingMessage, Server as HttpServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Duplex } from 'node:stream';
import { setTimeout as wait } from 'node:timers/promises';
import { WebSocketServer, type Server as SocketServer } from 'ws';
import { closeCodes } from '../closeCodes.ts';
import type { ServerOptions } from '../config.ts';
import { Fault } from '../fault.ts';
import { maxFrameBytes } from '../frameSize.ts';
import { countError } from '../metrics/metrics.ts';
import type { ServerContext } from '../session/session.ts';
import { serverCodecs } from '../wire/codec.ts';
import { bind } from './bind.ts';
import { coalesceWrites } from './coalesceWrites.ts';
import { chooseSubprotocol, ClientConnection, ClientSocket, rejectConnection } from './connection.ts';
import { createAccessCheck, isLoopback, splitTarget } from './access.ts';
import { answerHttp, rejectUpgrade } from './http.ts';
import { defaultSendBufferLimits, type SendBufferLimits } from './backpressure.ts';
import { rateLimit } from './rateLimit.ts';

const pingMs = 30_000;
/** A server that listens. Disposing of it lets live turns end for 5 s, closes every connection and frees every model. */
export interface TurngraphServer extends AsyncDisposable {
  readonly port: number;
  /** ws://HOST:PORT */
  readonly url: string;
}

/** What is not an option for operators. */
export interface ListenSettings {
  /** Aborted here with SERVER_SHUTTING_DOWN when the server begins to shut down. */
  readonly closing: AbortController;
  readonly sendBuffer?: SendBufferLimits;
  /** Milliseconds that live turns get when the server shuts down, before they are cancelled. */
  readonly graceMs?: number;
}

/**
 * Listens for clients over WebSocket on "/" and answers plain HTTP on the same port.
 * @throws Fault UNAUTHORIZED when the host is beyond loopback and no token is set; the system's error when the port is taken.
 */
export async function listen(
  context: ServerContext,
  options: ServerOptions,
  { closing, sendBuffer = defaultSendBufferLimits, graceMs = 5_000 }: ListenSettings,
): Promise<TurngraphServer> {
  const { host, token, maxConnections, maxConnectionRate } = options;
  if (token === '' && !isLoopback(host)) {
    const mend = 'set --token or TURNGRAPH_TOKEN';
    throw new Fault('UNAUTHORIZED', `--host ${host} can be reached from other machines: ${mend}`);
  }
  // Each load that is to stay listens, and Node takes more than ten for a leak.
  setMaxListeners(0, closing.signal);
  const connections = new Set<ClientConnection>();
  const mayCome = rateLimit(maxConnectionRate);
  const refusalOf = createAccessCheck(options);
  const sockets = createSocketServer();

  const crowd = (): string | undefined => {
    if (!mayCome()) return `more than ${maxConnectionRate} connections a second are not allowed; wait a little`;
    if (connections.size >= maxConnections) return `${maxConnections} connections are open, and more are not allowed`;
    return undefined;
  };

  const welcome = (socket: ClientSocket, request: IncomingMessage): void => {
    const subprotocol = chooseSubprotocol(offeredBy(request));
    const turnAside = (fault: Fault, closeCode: number): void => {
      countError(context.metrics, 'connection', fault);
      rejectConnection(socket, subprotocol ?? 'turngraph.v1.json', fault, closeCode);
    };
    if (!subprotocol) return turnAside(unknownSubprotocol(), closeCodes.unknownSubprotocol);
    const full = crowd();
    if (full) return turnAside(new Fault('LIMIT_EXCEEDED', full), closeCodes.limitExceeded);
    const coalesce = coalesceWrites(request.socket);
    const connection = new ClientConnection(socket, { subprotocol, context, pingMs, sendBuffer, coalesce });
    connections.add(connection);
    socket.on('close', () => connections.delete(connection));
  };

  const upgrade = (request: IncomingMessage, socket: Duplex, head: Buffer): void => {
    const refuse = (status: number, reason: string): void => {
      context.metrics.add('turngraph_handshakes_refused_total', { status: String(status) });
      rejectUpgrade(socket, status, reason);
    };
    const refusal = refusalOf(request);
    if (refusal) return refuse(refusal.status, refusal.reason);
    if (splitTarget(request)[0] !== '/') return refuse(404, 'the WebSocket is at /');
    if (closing.signal.aborted) return refuse(503, 'the server is shutting down');
    if (sockets.clients.size >= 2 * maxConnections) return refuse(503, 'too many connections are open');
    sockets.handleUpgrade(request, socket, head, (opened) => welcome(opened, request));
  };

  context.metrics.onScrape((set) => {
    const outflows = [...connections].map(({ outflow: sendBuffer }) => sendBuffer);
    set('turngraph_connections', {}, connections.size);
    set(
      'turngraph_unsent_bytes',
      {},
      outflows.reduce((sum, { unsent }) => sum + unsent, 0),
    );
    set('turngraph_slow_readers', {}, outflows.filter((one) => one.drained()).length);
  });

  const servers = await bind(options, (server) => {
    server.on('request', answerHttp(refusalOf, context));
    server.on('upgrade', upgrade);
  });
  const { port } = servers[0].address() as AddressInfo;
  context.log.info({ port, host }, 'listening');

  return {
    port,
    url: `ws://${host.includes(':') ? `[${host}]` : host}:${port}`,
    async [Symbol.asyncDispose]() {
      closing.abort(new Fault('SERVER_SHUTTING_DOWN', 'the server is shutting down; connect again later'));
      context.log.info({ connections: connections.size }, 'shutting down');
      // They go on from what is there another time, so nobody waits for their end.
      await context.downloads[Symbol.asyncDispose]();
      const all = [...connections];
      await Promise.race([Promise.all(all.map((one) => one.idle())), wait(graceMs, undefined, { ref: false })]);
      await Promise.all(all.map((one) => one.close(closeCodes.goingAway, 'the server shuts down')));
      await Promise.all(servers.map(closeHttpServer));
      await Promise.all(Object.values(context.pools).map((pool) => pool[Symbol.asyncDispose]()));
    },
  };
}

const createSocketServer = (): SocketServer<typeof ClientSocket> =>
  new WebSocketServer({
    noServer: true,
    maxPayload: maxFrameBytes,
    perMessageDeflate: false,
    // The codec does it, and answers with an error instead of a closed socket.
    skipUTF8Validation: true,
    WebSocket: ClientSocket,
    // A handshake without one of the names offered fails with a code that says nothing.
    handleProtocols: (offered) => chooseSubprotocol(offered) ?? [...offered][0] ?? false,
  });

const closeHttpServer = (server: HttpServer): Promise<unknown> => {
  const closed = new Promise((done) => server.close(done));
  // Sockets that were upgraded do not count as connections of the server, and the others have nothing more to say.
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
