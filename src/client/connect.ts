import { Fault } from '../protocol/fault.ts';
import type { ServerFrame } from '../protocol/frames.gen.ts';
import { clientCodecs } from '../protocol/codec/codec.ts';
import { Channel } from './channel.ts';
import { Client } from './client.ts';
import type { ConnectionChange, ReconnectOptions } from './reconnect.ts';
import { connectFailureOf, waitForSession, defaultReconnectOptions, reconnect } from './reconnect.ts';
import { Connection } from './connection.ts';
import { type ClientLimits, defaultClientLimits } from './limits.ts';
import { checks, logged, optionsCheck } from './options.ts';
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
  /**
   * Whether, and how, the client reconnects and resumes its session when the connection drops; default: true. With false
   * the connection ends when it drops.
   */
  readonly reconnect?: boolean | ReconnectOptions;
  /** Limits of time and size of what the server does. */
  readonly limits?: ClientLimits;
  /** Called when the connection drops, before each attempt to reconnect, and when the session is resumed or lost. */
  readonly onConnectionChange?: (change: ConnectionChange) => void;
  /** The WebSocket class; default: that of the package `ws` on Node, that of the platform elsewhere. */
  readonly WebSocket?: WebSocketClass;
  /** Called with frames that answer no request, such as the error before the server closes the connection. */
  readonly onUnsolicited?: (frame: ServerFrame) => void;
}

const checkConnectOptions = optionsCheck<ConnectOptions>('connect', {
  codec: checks.codec,
  token: checks.token,
  signal: checks.signal,
  timeoutMs: checks.timeoutMs,
  reconnect: checks.switchOrOptions,
  limits: checks.params,
  onConnectionChange: checks.callback,
  WebSocket: checks.webSocketClass,
  onUnsolicited: checks.callback,
});

const checkReconnectOptions = optionsCheck<ReconnectOptions>('connect.reconnect', {
  timeLimitMs: checks.timeoutMs,
  firstDelayMs: checks.timeoutMs,
  maxDelayMs: checks.timeoutMs,
  attemptTimeoutMs: checks.timeoutMs,
});

const checkLimits = optionsCheck<ClientLimits>('connect.limits', {
  requestTimeoutMs: checks.timeoutMs,
  idleTimeoutMs: checks.timeoutMs,
  maxFrameBytes: checks.count,
  maxAnswerBytes: checks.count,
});

/**
 * Connects to a server and waits for its first frame, `sessionReady`. When the connection drops later, the client
 * reconnects and resumes the session by itself.
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
  const { codec = 'proto', token, signal, WebSocket, timeoutMs = 10_000 } = options;
  const { reconnect: reconnecting = {} } = options;
  const reconnectOptions =
    reconnecting && read(checkReconnectOptions, defaultReconnectOptions, reconnecting === true ? {} : reconnecting);
  const limits = read(checkLimits, defaultClientLimits, options.limits);
  const onUnsolicited = logged('onUnsolicited', options.onUnsolicited);
  const onChange = logged('onConnectionChange', options.onConnectionChange);
  signal?.throwIfAborted();
  const wire = clientCodecs[`turngraph.v1.${codec}`];
  const { maxFrameBytes } = limits;
  const socketOptions = { subprotocol: wire.subprotocol, token, WebSocket, maxFrameBytes };
  const open = async (sessionId?: string): Promise<Channel> =>
    new Channel(await openSocket(url, { ...socketOptions, sessionId }), wire, maxFrameBytes);
  // Not `AbortSignal.timeout`, whose timer would outlive the handshake.
  const late = new AbortController();
  const timer = setTimeout(() => late.abort(), Math.ceil(timeoutMs));
  const timeout = late.signal;
  let channel: Channel | undefined;
  try {
    channel = await open();
    const aborted = signal ? AbortSignal.any([signal, timeout]) : timeout;
    const session = await waitForSession(channel, { signal: aborted, onUnsolicited });
    const connection = new Connection(channel, session, {
      limits,
      onUnsolicited,
      onChange,
      resume:
        reconnectOptions === false
          ? undefined
          : (drop) => reconnect({ ...drop, options: reconnectOptions, open, onUnsolicited, onChange }),
    });
    return new Client(connection, session);
  } catch (thrown) {
    channel?.close();
    if (signal?.aborted) throw signal.reason;
    const reason = timeout.aborted
      ? `the server did not answer within ${timeoutMs} ms (timeoutMs)`
      : connectFailureOf(thrown);
    const address = String(url).replace(/[?#].*/s, '');
    throw new Fault('CONNECTION_FAILED', `cannot connect to ${address}: ${reason}`, { cause: thrown });
  } finally {
    clearTimeout(timer);
  }
}

function read<All extends object>(check: (given: Partial<All>) => void, defaults: All, given: Partial<All> = {}): All {
  check(given);
  return { ...defaults, ...Object.fromEntries(Object.entries(given).filter(([, value]) => value !== undefined)) };
}
