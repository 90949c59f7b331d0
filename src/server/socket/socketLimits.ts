import type { Socket } from 'node:net';

/**
 * The open sockets that have neither shown the token nor become a WebSocket. They have a limit of their own, below that of
 * all sockets, so that they cannot keep other clients out: above it the oldest one is closed. A client of good will needs
 * milliseconds to get out of here, so the oldest is one that waits.
 */
export class AnonymousSockets {
  readonly #limit: number;
  readonly #onLimit: (socket: Socket) => void;
  /** Oldest first. */
  readonly #sockets = new Set<Socket>();

  /** @param onLimit is called before a socket is closed because of the limit. */
  constructor(limit: number, onLimit: (socket: Socket) => void) {
    this.#limit = limit;
    this.#onLimit = onLimit;
  }

  add(socket: Socket): void {
    this.#sockets.add(socket);
    socket.once('close', () => this.remove(socket));
    const [oldest] = this.#sockets;
    if (!oldest || this.#sockets.size <= this.#limit) return;
    this.remove(oldest);
    this.#onLimit(oldest);
    oldest.destroy();
  }

  /** The socket has shown the token, has become a WebSocket or is closed: it does not count any more. */
  remove(socket: Socket): void {
    this.#sockets.delete(socket);
  }
}

const windowMs = 1000;

/** Sliding window of one second: the result tells whether one more is allowed, and counts it. @param now in ms. */
export function rateLimit(perSecond: number, now: () => number = () => performance.now()): () => boolean {
  const times: number[] = [];
  return () => {
    const time = now();
    while (times[0] !== undefined && times[0] <= time - windowMs) times.shift();
    if (times.length >= perSecond) return false;
    times.push(time);
    return true;
  };
}
