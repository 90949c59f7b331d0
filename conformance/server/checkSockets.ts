import type { WebSocket } from 'ws';

/** The sockets that one check has opened. All are gone when its time is over, or when it has ended. */
export class CheckSockets implements Disposable {
  readonly #open = new Set<WebSocket>();
  readonly #timer: NodeJS.Timeout;
  #isOver = false;

  constructor(timeoutMs: number) {
    this.#timer = setTimeout(() => this.#terminate(), timeoutMs);
  }

  /** A socket was opened. */
  add(socket: WebSocket): void {
    this.#open.add(socket);
    socket.on('close', () => this.#open.delete(socket));
    if (this.#isOver) socket.terminate();
  }

  [Symbol.dispose](): void {
    clearTimeout(this.#timer);
    this.#terminate();
  }

  #terminate(): void {
    this.#isOver = true;
    for (const socket of this.#open) socket.terminate();
  }
}
