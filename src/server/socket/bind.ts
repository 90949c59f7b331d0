import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';

/** Address, port and limits of the HTTP servers. */
export interface BindOptions {
  readonly host: string;
  /** TCP port; 0 = any free port. */
  readonly port: number;
  /** Max open sessions. Up to four times as many sockets are accepted, because rejecting one takes a while. */
  readonly maxConnections: number;
  /** Max seconds until a client has sent its request. */
  readonly handshakeTimeout: number;
}

/**
 * Creates the HTTP servers and listens: on 127.0.0.1 and ::1 when the host is one of them, because browsers resolve
 * localhost to either. A machine without the other loopback address is no error.
 * @param prepare is called for each server before it listens.
 * @throws Error with a hint when the port is taken or the address cannot be used.
 */
export async function bind(
  options: BindOptions,
  prepare: (server: Server) => void,
): Promise<readonly [Server, ...Server[]]> {
  const main = await bindTo(options, prepare);
  const twinHost = loopbackTwins.get(options.host);
  if (twinHost === undefined) return [main];
  const { port } = main.address() as AddressInfo;
  const twin = await bindTo({ ...options, host: twinHost, port }, prepare).catch(() => undefined);
  return twin ? [main, twin] : [main];
}

const loopbackTwins = new Map([
  ['127.0.0.1', '::1'],
  ['::1', '127.0.0.1'],
]);

type Address = Pick<BindOptions, 'host' | 'port'>;

const bindHints: Readonly<Record<string, (address: Address) => string>> = {
  EADDRINUSE: ({ port }) => `port ${port} is taken: another server has it; give another --port`,
  EADDRNOTAVAIL: ({ host }) => `--host ${host} is no address of this machine; 127.0.0.1 is, and 0.0.0.0 means all`,
  ENOTFOUND: ({ host }) => `--host ${host} is an unknown name; give an address of this machine`,
  EACCES: ({ port }) => `port ${port} may not be opened by this user; give a --port of 1024 or above`,
};

const slowReaderTimeoutMs = 30_000;

function bindTo(
  { host, port, maxConnections, handshakeTimeout }: BindOptions,
  prepare: (server: Server) => void,
): Promise<Server> {
  const requestTimeout = handshakeTimeout * 1000;
  const timeouts = { headersTimeout: requestTimeout, requestTimeout, keepAliveTimeout: 5_000 };
  // An idle server does as little as it can: a late check lengthens the time of a slow client by a half at most.
  const server = createServer({ ...timeouts, connectionsCheckingInterval: requestTimeout / 2 });
  // Without progress of a response. A WebSocket has timeouts of its own.
  server.timeout = slowReaderTimeoutMs;
  server.maxConnections = 4 * maxConnections;
  server.maxRequestsPerSocket = 100;
  // Only a client that sends many requests before it has read a response.
  server.on('dropRequest', (_, socket) => socket.destroy());
  prepare(server);
  return new Promise((resolve, reject) => {
    const onError = (error: NodeJS.ErrnoException): void => {
      const hint = bindHints[error.code ?? '']?.({ host, port });
      reject(hint === undefined ? error : new Error(hint, { cause: error }));
    };
    server.once('error', onError);
    server.listen({ host, port }, () => {
      server.off('error', onError);
      resolve(server);
    });
  });
}
