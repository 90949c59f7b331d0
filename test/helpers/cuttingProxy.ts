import { once } from 'node:events';
import { connect, createServer, type AddressInfo, type Server, type Socket } from 'node:net';

/** A direction through the proxy. */
export type Direction = 'toClient' | 'toServer';

/**
 * A TCP proxy on loopback that cuts connections: at once, or after a number of bytes in one direction. It knows nothing
 * of WebSocket, so a cut can fall into the middle of a frame.
 */
export class CuttingProxy implements AsyncDisposable {
  /** Address of the proxy: `ws://127.0.0.1:PORT`. */
  readonly url: string;
  /** Connections since the start. */
  connections = 0;
  /** Cuts since the start. */
  cuts = 0;
  /** Bytes forwarded since the start. */
  readonly bytes = { toClient: 0, toServer: 0 };
  /** Whether new connections are accepted and nothing is forwarded. */
  isSilent = false;
  readonly #server: Server;
  readonly #sockets = new Set<Socket>();
  /** By direction: the bytes until the next cut, then those between the cuts after it. */
  readonly #budgets: Record<Direction, number[]> = { toClient: [], toServer: [] };

  private constructor(server: Server, targetPort: number) {
    this.#server = server;
    this.url = `ws://127.0.0.1:${(server.address() as AddressInfo).port}`;
    server.on('connection', (client) => this.#forward(client, targetPort));
  }

  /** Starts a proxy to a server that listens at a WebSocket address on 127.0.0.1. */
  static async start(url: string): Promise<CuttingProxy> {
    const server = createServer();
    await once(server.listen(0, '127.0.0.1'), 'listening');
    return new CuttingProxy(server, Number(new URL(url).port));
  }

  /** Cuts all connections now. */
  cut(): void {
    if (this.#sockets.size > 0) this.cuts++;
    for (const socket of this.#sockets) socket.destroy();
    this.#sockets.clear();
  }

  /**
   * Cuts all connections after this many more bytes in a direction, and again after each further number of bytes since
   * the cut before; the bytes before a cut are forwarded.
   */
  cutAfter(direction: Direction, ...bytes: readonly number[]): void {
    this.#budgets[direction] = [...bytes];
  }

  /** Stops listening and cuts all connections: later attempts to connect are refused. */
  async stop(): Promise<void> {
    if (!this.#server.listening) return;
    const closed = once(this.#server.close(), 'close');
    this.cut();
    await closed;
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.stop();
  }

  #forward(client: Socket, targetPort: number): void {
    this.connections++;
    this.#track(client);
    if (this.isSilent) return;
    const target = this.#track(connect(targetPort, '127.0.0.1'));
    this.#pipe(client, target, 'toServer');
    this.#pipe(target, client, 'toClient');
  }

  #track(socket: Socket): Socket {
    this.#sockets.add(socket);
    socket.setNoDelay();
    return socket.on('error', () => {}).on('close', () => this.#sockets.delete(socket));
  }

  #pipe(from: Socket, to: Socket, direction: Direction): void {
    from.on('data', (data: Buffer) => {
      const budgets = this.#budgets[direction];
      const [budget = Infinity] = budgets;
      const part = data.subarray(0, budget);
      this.bytes[direction] += part.length;
      if (budget < data.length) {
        budgets.shift();
        from.pause();
        to.write(part, () => this.cut());
        return;
      }
      if (budgets.length > 0) budgets[0] = budget - data.length;
      if (to.write(data)) return;
      from.pause();
      to.once('drain', () => from.resume());
    });
    from.on('end', () => to.end()).on('close', () => to.destroy());
  }
}
