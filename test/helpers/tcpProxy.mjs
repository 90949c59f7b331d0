// A TCP proxy on loopback that cuts connections. It knows nothing of WebSocket, so a cut can fall into the middle of a frame.
import { once } from 'node:events';
import { connect, createServer } from 'node:net';
import { setTimeout as wait } from 'node:timers/promises';

/** @typedef {'toClient' | 'toServer'} Direction */

/**
 * The numbers that a disturbed stream is drawn from: see scripts/seededRandom.mjs.
 * @typedef {{ below(limit: number): number, between(min: number, max: number): number, oneIn(count: number): boolean }} Random
 */

/**
 * @typedef {object} ProxyOptions
 * @property {number} [port] Where it listens; default: any free port.
 * @property {Random} [random] Splits the streams into pieces and delays some of them; a cut can be a reset.
 * @property {() => (bytes: Buffer) => Buffer} [alter] Called for each connection: returns what the client gets for bytes of
 *   the server.
 */

// Larger than most frames, so that some pieces are a part of a frame, and others several frames.
const maxPieceBytes = 400;
const maxDelayMs = 2;
// The end of one direction is not the end of the other.
const socketOptions = { noDelay: true, allowHalfOpen: true };

/** @implements {AsyncDisposable} */
export class TcpProxy {
  /** Connections since the start. */
  connections = 0;
  /** Cuts since the start. */
  cuts = 0;
  /** Pieces of the streams since the start. */
  pieces = 0;
  /** Bytes forwarded since the start. */
  bytes = { toClient: 0, toServer: 0 };
  /** Whether new connections are accepted and nothing is forwarded. */
  isSilent = false;
  /** Called after each cut by `cutAfter`. */
  onCut = () => {};
  #server;
  #targetPort;
  #options;
  /** @type {Set<Link>} */
  #links = new Set();
  /** By direction: the bytes until the next cut, then those between the cuts after it. @type {Record<Direction, number[]>} */
  #budgets = { toClient: [], toServer: [] };

  /** @param {import('node:net').Server} server @param {number} targetPort @param {ProxyOptions} options */
  constructor(server, targetPort, options) {
    this.#server = server;
    this.#targetPort = targetPort;
    this.#options = options;
    this.port = /** @type {import('node:net').AddressInfo} */ (server.address()).port;
    /** Address of the proxy: `ws://127.0.0.1:PORT`. */
    this.url = `ws://127.0.0.1:${this.port}`;
    server.on('connection', (client) => this.#accept(client));
  }

  /**
   * Starts a proxy to a server that listens at a WebSocket address on 127.0.0.1.
   * @param {string} url
   * @param {ProxyOptions} options
   */
  static async start(url, options = {}) {
    const server = createServer(socketOptions);
    await once(server.listen(options.port ?? 0, '127.0.0.1'), 'listening');
    return new TcpProxy(server, Number(new URL(url).port), options);
  }

  /** Cuts all connections now. */
  cut() {
    if (this.#links.size > 0) this.cuts++;
    for (const link of this.#links) link.destroy();
    this.#links.clear();
  }

  /**
   * Cuts the connection over which the last of so many more bytes of all connections in a direction goes, and again after
   * each further number of bytes since the cut before. The bytes before a cut are forwarded. Replaces what was asked for
   * before; without bytes there are no more cuts.
   * @param {Direction} direction
   * @param {readonly number[]} bytes
   */
  cutAfter(direction, ...bytes) {
    this.#budgets = { toClient: [], toServer: [], [direction]: [...bytes] };
  }

  /** Stops listening: later attempts to connect are refused. Resolves when the last connection has ended. */
  async refuse() {
    if (this.#server.listening) await once(this.#server.close(), 'close');
  }

  /** Stops listening and cuts all connections: later attempts to connect are refused. */
  async stop() {
    const closed = this.refuse();
    this.cut();
    await closed;
  }

  [Symbol.asyncDispose]() {
    return this.stop();
  }

  /** @param {import('node:net').Socket} client */
  #accept(client) {
    this.connections++;
    const target = this.isSilent ? undefined : connect({ ...socketOptions, port: this.#targetPort, host: '127.0.0.1' });
    const link = new Link(client, target);
    this.#links.add(link);
    client.on('close', () => this.#links.delete(link));
    if (!target) return;
    void this.#forward(link, client, target, 'toServer');
    void this.#forward(link, target, client, 'toClient', this.#options.alter?.());
  }

  /**
   * @param {Link} link
   * @param {import('node:net').Socket} source
   * @param {import('node:net').Socket} target
   * @param {Direction} direction
   * @param {(bytes: Buffer) => Buffer} alter
   */
  async #forward(link, source, target, direction, alter = (bytes) => bytes) {
    try {
      for await (const chunk of source.iterator({ destroyOnReturn: false })) {
        for await (const piece of this.#split(alter(chunk))) {
          if (!this.#pass(link, piece, target, direction)) return;
        }
        if (target.writableNeedDrain) await Promise.race([once(target, 'drain'), once(target, 'close')]);
      }
      target.end();
    } catch (error) {
      link.destroy();
      // Of a socket: the other side has broken off.
      if (typeof error.code !== 'string') throw error;
    }
  }

  /** @param {Buffer} bytes */
  async *#split(bytes) {
    const { random } = this.#options;
    for (let rest = bytes; rest.length > 0;) {
      const piece = random ? rest.subarray(0, 1 + random.below(maxPieceBytes)) : rest;
      rest = rest.subarray(piece.length);
      this.pieces++;
      if (random?.oneIn(4)) await wait(random.between(0, maxDelayMs));
      yield piece;
    }
  }

  /**
   * Delivers a piece, or its first part and then the cut. Returns whether the connection goes on.
   * @param {Link} link
   * @param {Buffer} piece
   * @param {import('node:net').Socket} target
   * @param {Direction} direction
   */
  #pass(link, piece, target, direction) {
    if (link.isCut) return false;
    const budgets = this.#budgets[direction];
    const part = piece.subarray(0, budgets[0] ?? Infinity);
    this.bytes[direction] += part.length;
    if (budgets[0] === undefined || budgets[0] > piece.length) {
      if (budgets[0] !== undefined) budgets[0] -= piece.length;
      target.write(piece);
      return true;
    }
    budgets.shift();
    this.cuts++;
    link.cut(target, part, this.#options.random);
    this.onCut();
    return false;
  }
}

/** A connection of a client, and the one to the server that belongs to it. */
class Link {
  isCut = false;
  #sockets;

  /** @param {import('node:net').Socket} client @param {import('node:net').Socket | undefined} server */
  constructor(client, server) {
    this.#sockets = server ? [client, server] : [client];
    for (const socket of this.#sockets) socket.on('error', () => this.destroy());
  }

  /**
   * Delivers the last bytes to one side, then ends both. By chance the other side sees a reset, maybe before it has read what
   * came earlier, and this one a reset or an end.
   * @param {import('node:net').Socket} target
   * @param {Buffer} last
   * @param {Random | undefined} random
   */
  cut(target, last, random) {
    this.isCut = true;
    const isReset = random?.oneIn(2);
    const others = this.#sockets.filter((socket) => socket !== target);
    if (random) for (const socket of others) socket.resetAndDestroy();
    target.write(last, () => (isReset ? target.resetAndDestroy() : this.destroy()));
  }

  destroy() {
    this.isCut = true;
    for (const socket of this.#sockets) socket.destroy();
  }
}
