import type { Duplex } from 'node:stream';

/**
 * Coalesces small writes (cork): everything that is written to a socket in one round of the event loop is sent with one
 * system call. Call the returned function before each write.
 */
export function coalesceWrites(socket: Duplex): () => void {
  let corked = false;
  const flush = (): void => {
    corked = false;
    socket.uncork();
  };
  return () => {
    if (corked) return;
    corked = true;
    socket.cork();
    setImmediate(flush);
  };
}
