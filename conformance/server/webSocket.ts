import type { IncomingMessage } from 'node:http';
import type { Socket } from 'node:net';
import { WebSocket } from 'ws';
import { describeError } from '../../src/protocol/fault.ts';
import { ConformanceFailure } from '../expect.ts';
import { readBody } from './fetchPage.ts';

/** How a WebSocket is opened. */
export interface WebSocketSettings {
  readonly url: string;
  readonly token: string;
  /** Empty: none is offered. */
  readonly subprotocols: readonly string[];
  readonly headers?: Readonly<Record<string, string>>;
  /** Default: that of the URL. */
  readonly path?: string;
  /** The parameter `session` of the address. */
  readonly sessionId?: string | undefined;
  readonly timeoutMs: number;
}

/** An opened WebSocket, or the HTTP response with which the handshake was refused. */
export type Handshake =
  | { readonly socket: WebSocket; readonly tcp: Socket; readonly extensions: string | undefined }
  | { readonly status: number; readonly body: string };

/**
 * Opens a WebSocket. Nothing that the server sends is lost: the socket is paused until `resume` is called.
 * @throws ConformanceFailure when there is neither a WebSocket nor an HTTP response.
 */
export function openWebSocket({
  url,
  path,
  sessionId,
  token,
  subprotocols,
  headers,
  timeoutMs,
}: WebSocketSettings): Promise<Handshake> {
  const address = new URL(path ?? url, url);
  if (sessionId !== undefined) address.searchParams.set('session', sessionId);
  const socket = new WebSocket(address, [...subprotocols], {
    headers: { ...(token !== '' && { authorization: `Bearer ${token}` }), ...headers },
    // Offered, so that a server which uses an extension is noticed.
    perMessageDeflate: true,
    skipUTF8Validation: true,
    maxPayload: 16 * 1024 * 1024,
  });
  return new Promise((resolve, reject) => {
    const fail = (came: string): void => reject(new ConformanceFailure(`a WebSocket at ${url}`, came, 'Connecting'));
    // The time limit of the library begins anew with each byte.
    const timer = setTimeout(() => {
      fail(`none within ${timeoutMs / 1000} s`);
      socket.terminate();
    }, timeoutMs);
    const stop = (): void => clearTimeout(timer);
    socket.on('upgrade', ({ socket: tcp, headers }: IncomingMessage) => {
      socket.on('open', () => {
        stop();
        socket.pause();
        resolve({ socket, tcp, extensions: headers['sec-websocket-extensions'] });
      });
    });
    socket.on('unexpected-response', (request, response) => {
      readBody(response)
        .then(
          (body) => resolve({ status: response.statusCode ?? 0, body }),
          (error: unknown) => fail(describeError(error)),
        )
        .finally(() => {
          stop();
          request.destroy();
        });
    });
    socket.on('error', ({ message }) => {
      stop();
      fail(message);
    });
  });
}
