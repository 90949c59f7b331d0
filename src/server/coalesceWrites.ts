import type { Duplex } from 'node:stream';

/**
 * Has what is written to a socket in one round of the event loop sent in one system call; to be called before each
 * write.
 */
export function coalesceWrites(socket: Duplex): () => void {
  let gathers = false;
  const send = (): void => {
    gathers = false;
    socket.uncork();
  };
  return () => {
    if (gathers) return;
    gathers = true;
    socket.cork();
    setImmediate(send);
  };
}
