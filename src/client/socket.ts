import type { WebSocket as NodeWebSocket } from 'ws';

type NodeClass = typeof NodeWebSocket;

/** The part of the standard WebSocket that the client uses. */
export interface WebSocketLike {
  binaryType: string;
  readonly readyState: number;
  send(data: string | Uint8Array<ArrayBuffer>): void;
  close(code?: number, reason?: string): void;
  addEventListener(type: 'message', listen: (event: { readonly data: unknown }) => void): void;
  addEventListener(type: 'error', listen: (event: Partial<Record<'message' | 'error', unknown>>) => void): void;
  addEventListener(type: 'close', listen: (event: { readonly code: number; readonly reason: string }) => void): void;
}

/** A constructor with the signature of the standard WebSocket. */
export type WebSocketClass = new (url: string, subprotocol: string) => WebSocketLike;

export interface SocketOptions {
  readonly subprotocol: string;
  readonly token?: string | undefined;
  /** The session that will be resumed: a load balancer finds its server by it. */
  readonly sessionId?: string | undefined;
  readonly maxFrameBytes: number;
  /** Default: that of the `ws` package on Node, that of the platform elsewhere. */
  readonly WebSocket?: WebSocketClass | undefined;
}

interface Platform {
  readonly WebSocket?: WebSocketClass;
  readonly document?: unknown;
  readonly process?: { readonly versions?: Readonly<Record<string, string | undefined>> };
}

/** Opens a WebSocket; it still connects when this resolves. @throws what the constructor throws: an invalid URL. */
export const openSocket = async (url: string, options: SocketOptions): Promise<WebSocketLike> =>
  Object.assign(await createSocket(url, options), { binaryType: 'arraybuffer' });

// On Node `ws` is preferred: it sends headers, shows pings, reports why a handshake failed, and ends a socket whose
// server does not answer the close frame. The WebSocket of Node 22 does none of these.
async function createSocket(address: string, options: SocketOptions): Promise<WebSocketLike> {
  const { subprotocol, token, sessionId } = options;
  const url = sessionId ? withParameter(address, 'session', sessionId) : address;
  const platform = globalThis as Platform;
  // The standard WebSocket class cannot send an Authorization header, so the token is a query parameter.
  const openStandard = (standard: WebSocketClass): WebSocketLike =>
    new standard(token ? withParameter(url, 'token', token) : url, subprotocol);
  if (options.WebSocket) return openStandard(options.WebSocket);
  if (!isNode(platform) && platform.WebSocket) return openStandard(platform.WebSocket);
  const nodeClass = await findNodeClass();
  if (nodeClass) return openNodeSocket(nodeClass, url, options);
  if (platform.WebSocket) return openStandard(platform.WebSocket);
  throw new Error('this platform has no WebSocket class; install the package ws, or give one in the option WebSocket');
}

// Electron's pages, jsdom, Bun and Deno also have the version of a Node.
const isNode = ({ document, process }: Platform): boolean =>
  document === undefined && process?.versions?.node !== undefined && !process.versions.bun && !process.versions.deno;

// Undefined for a program that was bundled without `ws`, or with the stand-in that it has for pages.
async function findNodeClass(): Promise<NodeClass | undefined> {
  try {
    return ((await import('ws')) as { readonly WebSocket?: NodeClass }).WebSocket;
  } catch {
    return undefined;
  }
}

function withParameter(url: string, name: string, value: string): string {
  const address = new URL(url);
  address.searchParams.set(name, value);
  return address.href;
}

function openNodeSocket(WebSocket: NodeClass, url: string, socketOptions: SocketOptions): WebSocketLike {
  const { subprotocol, token, maxFrameBytes: maxPayload } = socketOptions;
  // Each character of a header is a byte: those of UTF-8.
  const bytes = String.fromCharCode(...new TextEncoder().encode(token));
  const headers = token ? { authorization: `Bearer ${bytes}` } : {};
  // After `close`, a server that hangs keeps the process alive for 2 s, not for the default of 30 s.
  const options = { headers, perMessageDeflate: false, closeTimeout: 2000, maxPayload };
  const socket = new WebSocket(url, subprotocol, options);
  terminateWhenSilent(socket);
  return socket;
}

interface WatchedSocket {
  on(event: 'ping' | 'message' | 'close', listen: () => void): unknown;
  terminate(): void;
}

const checkMs = 15_000;
// 75 to 90 s: a server pings every 30 s, so that two pings are missing.
const maxSilentChecks = 6;
// A server that sends more of them may read no answer, and each answer takes memory.
const maxPings = 1000;

/**
 * Terminates a socket on which nothing has arrived for 75 to 90 s, not even a ping: when a machine or a cable fails, the
 * connection is not closed, and the system may notice after many minutes only.
 */
export function terminateWhenSilent(socket: WatchedSocket): void {
  let silentChecks = 0;
  // Counted checks, not a time: a program that was suspended has not read what arrived meanwhile.
  let pings = 0;
  const timer = setInterval(() => {
    pings = 0;
    if (++silentChecks >= maxSilentChecks) socket.terminate();
  }, checkMs);
  unref(timer);
  const onTraffic = (): void => void (silentChecks = 0);
  socket.on('ping', () => {
    onTraffic();
    if (++pings > maxPings) socket.terminate();
  });
  socket.on('message', onTraffic);
  socket.on('close', () => clearInterval(timer));
}

// In pages a timer is a number.
const unref = (timer: unknown): void => (timer as { unref?(): void }).unref?.();
