/** As much of the standard WebSocket as the client needs. */
export interface WebSocketLike {
  binaryType: string;
  send(data: string | Uint8Array<ArrayBuffer>): void;
  close(code?: number, reason?: string): void;
  addEventListener(type: 'message', listen: (event: { readonly data: unknown }) => void): void;
  addEventListener(type: 'error', listen: (event: { readonly message?: unknown }) => void): void;
  addEventListener(type: 'close', listen: (event: { readonly code: number; readonly reason: string }) => void): void;
}

/** A class like the standard WebSocket. */
export type WebSocketClass = new (url: string, subprotocol: string) => WebSocketLike;

/** What is needed to open a socket. */
export interface SocketOptions {
  readonly subprotocol: string;
  readonly token?: string | undefined;
  /** Default: the platform's own, or the `ws` package where there is none (Node before 22). */
  readonly WebSocket?: WebSocketClass | undefined;
}

/** A socket that has begun to connect; throws what the class throws, as for a URL that is none. */
export async function openSocket(url: string, options: SocketOptions): Promise<WebSocketLike> {
  const { subprotocol, token } = options;
  const standard = options.WebSocket ?? (globalThis as { readonly WebSocket?: WebSocketClass }).WebSocket;
  const socket = standard
    ? new standard(token ? withToken(url, token) : url, subprotocol)
    : await openNodeSocket(url, subprotocol, token);
  socket.binaryType = 'arraybuffer';
  return socket;
}

// The standard class sends no headers of ours.
function withToken(url: string, token: string): string {
  const address = new URL(url);
  address.searchParams.set('token', token);
  return address.href;
}

async function openNodeSocket(url: string, subprotocol: string, token: string | undefined): Promise<WebSocketLike> {
  const { WebSocket } = await import('ws');
  const headers = token ? { authorization: `Bearer ${token}` } : {};
  // A server that hangs must not keep a process that has closed its client for the 30 s that are the default.
  const options = { headers, perMessageDeflate: false, closeTimeout: 2000 };
  return new WebSocket(url, subprotocol, options);
}
