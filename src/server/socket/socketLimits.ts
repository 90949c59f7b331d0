import type { Socket } from 'node:net';

/**
 * The open sockets that have neither shown the token nor become a WebSocket. They have a limit of their own, below that of
 * all sockets, so that they cannot keep other clients out: above it the oldest one is closed. A client of good will needs
 * milliseconds to get out of here, so the oldest is one that waits.
 * @param onLimit is called before a socket is closed because of the limit.
 */
export function anonymousSockets(limit: number, onLimit: (socket: Socket) => void) {
  /** Oldest first. */
  const sockets = new Set<Socket>();
  /** The socket has shown the token, has become a WebSocket or is closed: it does not count any more. */
  const remove = (socket: Socket): void => void sockets.delete(socket);
  const add = (socket: Socket): void => {
    sockets.add(socket);
    socket.once('close', () => remove(socket));
    const [oldest] = sockets;
    if (!oldest || sockets.size <= limit) return;
    remove(oldest);
    onLimit(oldest);
    oldest.destroy();
  };
  return { add, remove };
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
