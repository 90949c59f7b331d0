import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';

/** Where to listen, and how. */
export interface BindOptions {
  readonly host: string;
  readonly port: number;
  /** Sessions that may be open; sockets may be a few times as many, for those that are being turned away. */
  readonly maxConnections: number;
  /** Seconds until a client must have sent the head of its request. */
  readonly handshakeTimeout: number;
}

/**
 * Opens the port: on both loopback addresses when the host is one of them, because browsers resolve localhost to either.
 * @throws the system's error when the port is taken; a machine without the other loopback address is no error.
 */
export async function bind(
  options: BindOptions,
  prepare: (server: Server) => void,
): Promise<readonly [Server, ...Server[]]> {
  const main = await bindTo(options, prepare);
  const other = loopbackTwins.get(options.host);
  if (other === undefined) return [main];
  const { port } = main.address() as AddressInfo;
  const twin = await bindTo({ ...options, host: other, port }, prepare).catch(() => undefined);
  return twin ? [main, twin] : [main];
}

const loopbackTwins = new Map([
  ['127.0.0.1', '::1'],
  ['::1', '127.0.0.1'],
]);

type Address = Pick<BindOptions, 'host' | 'port'>;

const bindHints: Readonly<Record<string, (place: Address) => string>> = {
  EADDRINUSE: ({ port }) => `port ${port} is taken: another server has it; give another --port`,
  EADDRNOTAVAIL: ({ host }) => `--host ${host} is no address of this machine; 127.0.0.1 is, and 0.0.0.0 means all`,
  ENOTFOUND: ({ host }) => `--host ${host} is a name that nobody knows; give an address of this machine`,
  EACCES: ({ port }) => `port ${port} may not be opened by this user; give a --port of 1024 or above`,
};

function bindTo(
  { host, port, maxConnections, handshakeTimeout }: BindOptions,
  prepare: (server: Server) => void,
): Promise<Server> {
  const server = createServer({ headersTimeout: handshakeTimeout * 1000, connectionsCheckingInterval: 1000 });
  server.maxConnections = 4 * maxConnections;
  prepare(server);
  return new Promise((resolve, reject) => {
    const refuse = (error: NodeJS.ErrnoException): void => {
      const mend = bindHints[error.code ?? '']?.({ host, port });
      reject(mend === undefined ? error : new Error(mend, { cause: error }));
    };
    server.once('error', refuse);
    server.listen({ host, port }, () => {
      server.off('error', refuse);
      resolve(server);
    });
  });
}
