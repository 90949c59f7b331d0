// TCP proxy that cuts, delays and splits the streams of its connections, at bytes and times drawn from a seed.
import { once } from 'node:events';
import { connect, createServer } from 'node:net';
import { createRng } from '../seededRandom.mjs';

/** @typedef {'toServer' | 'toClient'} Direction */

/**
 * Where the next cut is: after so many more bytes in a direction, which are still delivered.
 * @typedef {object} Cut
 * @property {Direction} direction
 * @property {number} bytes
 */

// Larger than most frames, so that some pieces are a part of a frame, and others several frames.
const maxPieceBytes = 400;

// The end of one direction is not the end of the other.
const socketOptions = { noDelay: true, allowHalfOpen: true };

/**
 * Starts a proxy to a port of this machine.
 * @param {{ port: number, seed: number, maxDelayMs?: number }} options `maxDelayMs`: longest delay of a piece of the stream.
 */
export async function startProxy({ port, seed, maxDelayMs = 2 }) {
  const rng = createRng(seed);
  /** @type {Set<Link>} */
  const links = new Set();
  const counts = { connections: 0, cuts: 0, pieces: 0 };
  /** @type {Cut | undefined} */
  let armed;
  const server = createServer(socketOptions, (client) => {
    counts.connections++;
    const link = new Link(client, connect({ ...socketOptions, port, host: '127.0.0.1' }));
    links.add(link);
    link.onEnd(() => links.delete(link));
    for (const direction of /** @type {const} */ (['toServer', 'toClient'])) void pump(link, direction);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = /** @type {import('node:net').AddressInfo} */ (server.address());

  /** @type {(link: Link, direction: Direction) => Promise<void>} */
  async function pump(link, direction) {
    const [source, target] = direction === 'toServer' ? [link.client, link.server] : [link.server, link.client];
    try {
      for await (const chunk of source.iterator({ destroyOnReturn: false })) {
        for (let rest = chunk; rest.length > 0;) {
          const piece = rest.subarray(0, 1 + rng.below(maxPieceBytes));
          rest = rest.subarray(piece.length);
          counts.pieces++;
          if (rng.oneIn(4)) await pause(rng.between(0, maxDelayMs));
          if (passes(link, direction, piece, target)) continue;
          return;
        }
      }
      target.end();
    } catch {
      link.destroy();
    }
  }

  /** Delivers a piece, or its first part and then the cut. @type {(...parts: [Link, Direction, Buffer, any]) => boolean} */
  function passes(link, direction, piece, target) {
    if (link.isCut) return false;
    if (armed?.direction !== direction || armed.bytes > piece.length) {
      if (armed?.direction === direction) armed.bytes -= piece.length;
      target.write(piece);
      return true;
    }
    const { bytes } = armed;
    armed = undefined;
    counts.cuts++;
    link.cut(target, piece.subarray(0, bytes), rng.oneIn(2));
    proxy.onCut();
    return false;
  }

  const proxy = {
    url: `ws://127.0.0.1:${address.port}`,
    port: address.port,
    /** Connections, cuts and pieces so far. */
    counts,
    /** Called after each cut. */
    onCut: () => {},
    /** Sets the next cut of any connection; undefined: none. */
    arm(/** @type {Cut | undefined} */ cut) {
      armed = cut && { ...cut };
    },
    async close() {
      const closed = new Promise((resolve) => server.close(resolve));
      for (const link of links) link.destroy();
      await closed;
    },
  };
  return proxy;
}

/** A connection of a client, and the one to the server that belongs to it. */
class Link {
  isCut = false;

  /** @param {import('node:net').Socket} client @param {import('node:net').Socket} server */
  constructor(client, server) {
    this.client = client;
    this.server = server;
    for (const socket of [client, server]) socket.on('error', () => this.destroy());
  }

  /** @param {() => void} onEnd */
  onEnd(onEnd) {
    this.client.on('close', onEnd);
  }

  /**
   * Delivers the last bytes to one side, then ends both: the other side by a reset, which its peer may see before it has
   * read what came earlier; this one by a reset or an end.
   * @param {import('node:net').Socket} target
   * @param {Buffer} last
   * @param {boolean} isReset
   */
  cut(target, last, isReset) {
    this.isCut = true;
    const other = target === this.client ? this.server : this.client;
    other.resetAndDestroy();
    target.write(last, () => (isReset ? target.resetAndDestroy() : target.destroy()));
  }

  destroy() {
    this.isCut = true;
    this.client.destroy();
    this.server.destroy();
  }
}

const pause = (/** @type {number} */ milliseconds) => new Promise((resolve) => setTimeout(resolve, milliseconds));
