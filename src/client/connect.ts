import { Fault, describeError } from '../fault.ts';
import type { ServerFrame } from '../frames.gen.ts';
import { clientCodecs } from '../wire/codec.ts';
import { Client } from './client.ts';
import { Connection } from './connection.ts';
import { openSocket, type WebSocketClass } from './socket.ts';

/** How a client connects. */
export interface ConnectOptions {
  /** Binary frames, or JSON that a person can read in the network view; default: proto. */
  readonly codec?: 'proto' | 'json';
  /** The token that the server was started with, if it was. */
  readonly token?: string;
  /** Gives up connecting. */
  readonly signal?: AbortSignal;
  /** Milliseconds that the server has for its greeting; default: 10,000. */
  readonly timeoutMs?: number;
  /** A class to use instead of the platform's own. */
  readonly WebSocket?: WebSocketClass;
  /** Hears frames that answer no request, such as the error that says why the server hangs up. */
  readonly onUnsolicited?: (frame: ServerFrame) => void;
}

/**
 * Connects to a server and waits for its greeting; rejects with CONNECTION_FAILED.
 *
 * @example
 * const client = await connect('ws://127.0.0.1:9100');
 * const agent = await client.createAgent({ graphName: 'companion' });
 * const turn = agent.send('It is dark in here.');
 * for await (const piece of turn.text) print(piece);
 * const { calls } = await turn.done;
 */
export async function connect(url: string, options: ConnectOptions = {}): Promise<Client> {
  const { codec = 'proto', token, signal, WebSocket, onUnsolicited: onUnasked, timeoutMs = 10_000 } = options;
  const patience = AbortSignal.timeout(timeoutMs);
  signal?.throwIfAborted();
  const { subprotocol } = clientCodecs[`turngraph.v1.${codec}`];
  try {
    const socket = await openSocket(url, { subprotocol, token, WebSocket });
    const connection = new Connection(socket, clientCodecs[subprotocol], onUnasked);
    return new Client(
      connection,
      await waitForSession(connection, signal ? AbortSignal.any([signal, patience]) : patience),
    );
  } catch (thrown) {
    if (signal?.aborted) throw signal.reason;
    const late = patience.aborted ? `the server did not greet within ${timeoutMs} ms` : undefined;
    const why = late ?? hintFor(describeError(thrown));
    const place = url.replace(/[?#].*/s, '');
    throw new Fault('CONNECTION_FAILED', `cannot connect to ${place}: ${why}`, { cause: thrown });
  }
}

// What the platform says of a handshake that failed, with what to do about it.
function hintFor(message: string): string {
  if (/ECONNREFUSED/.test(message)) return 'nobody listens there; is the server running?';
  const [, status = ''] = /server response: (\d{3})/.exec(message) ?? [];
  const mends = new Map([
    ['401', 'the server wants its token, or this one is wrong (401)'],
    ['403', 'the server does not let this host or origin connect (403); see --allow-host and --allow-origin'],
    ['404', 'the WebSocket is at / (404)'],
    ['503', 'the server is shutting down, or has too many connections (503)'],
  ]);
  return mends.get(status) ?? message;
}

async function waitForSession(connection: Connection, signal: AbortSignal) {
  const giveUp = (): void => void connection.close();
  signal.addEventListener('abort', giveUp);
  if (signal.aborted) giveUp();
  try {
    return await connection.ready;
  } finally {
    signal.removeEventListener('abort', giveUp);
  }
}
