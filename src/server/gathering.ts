import type { Duplex } from 'node:stream';

/**
 * Has what is written to a socket in one go sent in one system call; to be called before each write. It is sent two
 * rounds of the event loop later: by then the engine computes the next token, beside which the call costs nothing.
 */
export function gathering(socket: Duplex): () => void {
  let gathers = false;
  const send = (): void => {
    gathers = false;
    socket.uncork();
  };
  return () => {
    if (gathers) return;
    gathers = true;
    socket.cork();
    setImmediate(() => setImmediate(send));
  };
}
