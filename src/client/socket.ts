/** The part of the standard WebSocket that the client uses. */
export interface WebSocketLike {
  binaryType: string;
  readonly readyState: number;
  send(data: string | Uint8Array<ArrayBuffer>): void;
  close(code?: number, reason?: string): void;
  addEventListener(type: 'message', listen: (event: { readonly data: unknown }) => void): void;
  addEventListener(type: 'error', listen: (event: { readonly message?: unknown }) => void): void;
  addEventListener(type: 'close', listen: (event: { readonly code: number; readonly reason: string }) => void): void;
}

/** A constructor with the signature of the standard WebSocket. */
export type WebSocketClass = new (url: string, subprotocol: string) => WebSocketLike;

/** Options of `openSocket`. */
export interface SocketOptions {
  readonly subprotocol: string;
  readonly token?: string | undefined;
  /** Default: that of the platform, or of the `ws` package where there is none (Node before 22). */
  readonly WebSocket?: WebSocketClass | undefined;
}

/**
 * Opens a WebSocket; it is still connecting when this resolves.
 * @throws what the constructor throws, for example for an invalid URL.
 */
export async function openSocket(url: string, options: SocketOptions): Promise<WebSocketLike> {
  const { subprotocol, token } = options;
  const standard = options.WebSocket ?? (globalThis as { readonly WebSocket?: WebSocketClass }).WebSocket;
  const socket = standard
    ? new standard(token ? withToken(url, token) : url, subprotocol)
    : await openNodeSocket(url, subprotocol, token);
  socket.binaryType = 'arraybuffer';
  return socket;
}

// The standard WebSocket class cannot send an Authorization header, so the token is a query parameter.
function withToken(url: string, token: string): string {
  const address = new URL(url);
  address.searchParams.set('token', token);
  return address.href;
}

async function openNodeSocket(url: string, subprotocol: string, token: string | undefined): Promise<WebSocketLike> {
  const { WebSocket } = await import('ws');
  const headers = token ? { authorization: `Bearer ${token}` } : {};
  // After `close`, a server that hangs keeps the process alive for 2 s, not for the default of 30 s.
  const options = { headers, perMessageDeflate: false, closeTimeout: 2000 };
  return new WebSocket(url, subprotocol, options);
}
