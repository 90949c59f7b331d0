import { WebSocket } from 'ws';
import { ConformanceFailure } from '../expect.ts';

/** How a WebSocket is opened. */
export interface WebSocketSettings {
  readonly url: string;
  readonly token: string;
  /** Empty: none is offered. */
  readonly subprotocols: readonly string[];
  readonly headers?: Readonly<Record<string, string>>;
  readonly timeoutMs: number;
}

/** An opened WebSocket, or the HTTP response with which the handshake was refused. */
export type Handshake =
  | { readonly socket: WebSocket; readonly extensions: string | undefined }
  | { readonly status: number; readonly body: string };

/**
 * Opens a WebSocket. Nothing that the server sends is lost: the socket is paused until `resume` is called.
 * @throws ConformanceFailure when there is neither a WebSocket nor an HTTP response.
 */
export function openWebSocket({ url, token, subprotocols, headers, timeoutMs }: WebSocketSettings): Promise<Handshake> {
  const socket = new WebSocket(url, [...subprotocols], {
    headers: { ...(token !== '' && { authorization: `Bearer ${token}` }), ...headers },
    perMessageDeflate: subprotocols.length > 0,
    handshakeTimeout: timeoutMs,
    skipUTF8Validation: true,
    maxPayload: 64 * 1024 * 1024,
    // A server must not extend what a client offers, and may leave it out.
    allowSynchronousEvents: true,
  });
  return new Promise((resolve, reject) => {
    let extensions: string | undefined;
    socket.on('upgrade', (response) => (extensions = response.headers['sec-websocket-extensions']));
    socket.on('open', () => {
      socket.pause();
      resolve({ socket, extensions });
    });
    socket.on('unexpected-response', (request, response) => {
      let body = '';
      response.setEncoding('utf8');
      response.on('data', (text: string) => (body += text));
      response.on('end', () => resolve({ status: response.statusCode ?? 0, body }));
      response.on('error', () => resolve({ status: response.statusCode ?? 0, body }));
      response.on('close', () => request.destroy());
    });
    socket.on('error', ({ message }) => reject(new ConformanceFailure(`a WebSocket at ${url}`, message, 'Connecting')));
  });
}
