import { Fault, describeError } from '../fault.ts';
import type { ServerFrame } from '../frames.gen.ts';
import { clientCodecs } from '../wire/codec.ts';
import { Client } from './client.ts';
import { Connection } from './connection.ts';
import { checks, optionsCheck } from './options.ts';
import { openSocket, type WebSocketClass } from './socket.ts';

/** Options of `connect`. */
export interface ConnectOptions {
  /** Encoding of the frames: binary protobuf (default), or JSON, which is readable in the network view of a browser. */
  readonly codec?: 'proto' | 'json';
  /** The token of the server (`--token`), if it has one. */
  readonly token?: string;
  /** Aborts connecting; `connect` rejects with the signal's reason. */
  readonly signal?: AbortSignal;
  /** Milliseconds until `connect` rejects with CONNECTION_FAILED; default: 10,000. */
  readonly timeoutMs?: number;
  /** The WebSocket class; default: that of the platform, or `ws` where there is none. */
  readonly WebSocket?: WebSocketClass;
  /** Called with frames that answer no request, such as the error before the server closes the connection. */
  readonly onUnsolicited?: (frame: ServerFrame) => void;
}

const checkConnectOptions = optionsCheck<ConnectOptions>('connect', {
  codec: checks.codec,
  token: checks.string,
  signal: checks.signal,
  timeoutMs: checks.timeoutMs,
  WebSocket: checks.webSocketClass,
  onUnsolicited: checks.callback,
});

/**
 * Connects to a server and waits for its first frame, `sessionReady`.
 * @param url `ws://HOST:PORT`
 * @throws Fault CONNECTION_FAILED with a hint, MALFORMED_MESSAGE for a misspelt option or one of the wrong type; the
 * signal's reason when it is aborted.
 *
 * @example
 * const client = await connect('ws://127.0.0.1:9100');
 * const agent = await client.createAgent({ graphName: 'companion' });
 * const turn = agent.send('It is dark in here.');
 * for await (const piece of turn.text) print(piece);
 * const { calls } = await turn.done;
 */
export async function connect(url: string, options: ConnectOptions = {}): Promise<Client> {
  checkConnectOptions(options);
  const { codec = 'proto', token, signal, WebSocket, onUnsolicited, timeoutMs = 10_000 } = options;
  const timeout = AbortSignal.timeout(Math.ceil(timeoutMs));
  signal?.throwIfAborted();
  const { subprotocol } = clientCodecs[`turngraph.v1.${codec}`];
  try {
    const socket = await openSocket(url, { subprotocol, token, WebSocket });
    const connection = new Connection(socket, clientCodecs[subprotocol], onUnsolicited);
    return new Client(
      connection,
      await waitForSession(connection, signal ? AbortSignal.any([signal, timeout]) : timeout),
    );
  } catch (thrown) {
    if (signal?.aborted) throw signal.reason;
    const timeoutMessage = timeout.aborted ? `the server did not answer within ${timeoutMs} ms` : undefined;
    const reason = timeoutMessage ?? hintFor(describeError(thrown));
    const address = String(url).replace(/[?#].*/s, '');
    throw new Fault('CONNECTION_FAILED', `cannot connect to ${address}: ${reason}`, { cause: thrown });
  }
}

// The reason of a failed handshake with a hint, from the message of the platform's WebSocket.
function hintFor(message: string): string {
  if (/ECONNREFUSED/.test(message)) return 'no server listens there; is it running?';
  if (/invalid url|must be/i.test(message)) return 'that is no WebSocket address; give one such as ws://127.0.0.1:9100';
  const [, status = ''] = /server response: (\d{3})/.exec(message) ?? [];
  const hints = new Map([
    ['401', 'the server requires its token, or this one is wrong (401)'],
    ['403', 'the server does not let this host or origin connect (403); see --allow-host and --allow-origin'],
    ['404', 'the WebSocket is at / (404)'],
    ['503', 'the server is shutting down, or has too many connections (503)'],
  ]);
  return hints.get(status) ?? message;
}

async function waitForSession(connection: Connection, signal: AbortSignal) {
  const closeOnAbort = (): void => void connection.close();
  signal.addEventListener('abort', closeOnAbort);
  if (signal.aborted) closeOnAbort();
  try {
    return await connection.ready;
  } finally {
    signal.removeEventListener('abort', closeOnAbort);
  }
}
