import { createServer, type IncomingMessage, type Server as HttpServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Duplex } from 'node:stream';
import { WebSocketServer } from 'ws';
import type { ServerOptions } from '../config.ts';
import { Fault } from '../fault.ts';
import { serverCodecs } from '../wire/codec.ts';
import type { House } from '../session/session.ts';
import { chooseSubprotocol, Connection, maxFrameBytes, Peer, turnOut } from './connection.ts';
import { gate, isLoopback, splitTarget } from './gate.ts';
import { answerHttp, turnAway } from './http.ts';

const pingMs = 30_000;
const closeCodes = { goingAway: 1001, subprotocol: 4406, tooMany: 4429 } as const;

/** A server that listens; disposing of it closes every connection and frees every model. */
export interface Listening extends AsyncDisposable {
  readonly port: number;
  /** ws://HOST:PORT */
  readonly url: string;
}

/**
 * Listens for clients over WebSocket on "/" and answers plain HTTP on the same port.
 * @throws Fault UNAUTHORIZED when the host is beyond loopback and no token is set; the system's error when the port is taken.
 */
export async function listen(house: House, options: ServerOptions): Promise<Listening> {
  if (options.token === '' && !isLoopback(options.host)) {
    throw new Fault(
      'UNAUTHORIZED',
      `--host ${options.host} can be reached from other machines: set --token or TURNGRAPH_TOKEN`,
    );
  }
  const connections = new Set<Connection>();
  const refusalOf = gate(options);
  const sockets = new WebSocketServer({
    noServer: true,
    maxPayload: maxFrameBytes,
    perMessageDeflate: false,
    // The codec does it, and answers with an error instead of a closed socket.
    skipUTF8Validation: true,
    WebSocket: Peer,
    // A handshake without one of the names offered fails with a code that says nothing.
    handleProtocols: (offered) => chooseSubprotocol(offered) ?? [...offered][0] ?? false,
  });

  const welcome = (socket: Peer, request: IncomingMessage): void => {
    const subprotocol = chooseSubprotocol(offeredBy(request));
    if (!subprotocol) return turnOut(socket, 'turngraph.v1.json', unknownSubprotocol(), closeCodes.subprotocol);
    if (connections.size >= options.maxConnections) {
      const fault = new Fault(
        'LIMIT_EXCEEDED',
        `${options.maxConnections} connections are open, and more are not allowed`,
      );
      return turnOut(socket, subprotocol, fault, closeCodes.tooMany);
    }
    const connection = new Connection(socket, subprotocol, house, pingMs);
    connections.add(connection);
    socket.on('close', () => connections.delete(connection));
  };

  const upgrade = (request: IncomingMessage, socket: Duplex, head: Buffer): void => {
    const refusal = refusalOf(request);
    if (refusal) return turnAway(socket, refusal.status, refusal.reason);
    if (splitTarget(request)[0] !== '/') return turnAway(socket, 404, 'the WebSocket is at /');
    sockets.handleUpgrade(request, socket, head, (opened) => welcome(opened, request));
  };

  const servers = await open(options, (server) => {
    server.on('request', answerHttp(refusalOf));
    server.on('upgrade', upgrade);
  });
  const { port } = servers[0].address() as AddressInfo;
  house.log.info({ port, host: options.host }, 'listening');

  return {
    port,
    url: `ws://${options.host.includes(':') ? `[${options.host}]` : options.host}:${port}`,
    async [Symbol.asyncDispose]() {
      await Promise.all(
        [...connections].map((connection) => connection.close(closeCodes.goingAway, 'the server shuts down')),
      );
      for (const server of servers) server.closeAllConnections();
      await Promise.all(servers.map((server) => new Promise((done) => server.close(done))));
      await Promise.all(Object.values(house.pools).map((pool) => pool[Symbol.asyncDispose]()));
    },
  };
}

const offeredBy = ({ headers }: IncomingMessage): ReadonlySet<string> =>
  new Set(
    (headers['sec-websocket-protocol'] ?? '')
      .split(',')
      .map((name) => name.trim())
      .filter((name) => name !== ''),
  );

const unknownSubprotocol = (): Fault =>
  new Fault(
    'PROTOCOL_VERSION_MISMATCH',
    `this server speaks ${Object.keys(serverCodecs).join(' and ')}; offer one of them, or none for JSON`,
  );

// Browsers resolve localhost to either loopback address, so both are served; a machine may have no IPv6.
async function open(
  { host, port }: Pick<ServerOptions, 'host' | 'port'>,
  prepare: (server: HttpServer) => void,
): Promise<readonly [HttpServer, ...HttpServer[]]> {
  const main = await bind(host, port, prepare);
  const other = { '127.0.0.1': '::1', '::1': '127.0.0.1' }[host];
  if (other === undefined) return [main];
  const { port: bound } = main.address() as AddressInfo;
  const twin = await bind(other, bound, prepare).catch(() => undefined);
  return twin ? [main, twin] : [main];
}

function bind(host: string, port: number, prepare: (server: HttpServer) => void): Promise<HttpServer> {
  const server = createServer();
  prepare(server);
  return new Promise((resolve, reject) => {
    server.once('error', reject);
    server.listen({ host, port }, () => {
      server.off('error', reject);
      resolve(server);
    });
  });
}
