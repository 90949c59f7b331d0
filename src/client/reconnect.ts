import { raceAbort } from '../base/abort.ts';
import { afterMs, onAbort, onceAny } from '../base/events.ts';
import { closeCodes } from '../protocol/closeCodes.ts';
import { Fault, describeError, malformed } from '../protocol/fault.ts';
import type { ResumeSessionRequest, ResumeSessionResponse, ServerFrame, SessionReady } from '../protocol/frames.gen.ts';
import { droppedFault, faultOfEvent, type Channel, type ChannelEnd } from './channel.ts';
import { requestFrame } from '../protocol/codec/json.ts';
import { toFault } from './toolCall.ts';

/** How a client reconnects, in milliseconds. */
export interface ReconnectOptions {
  /** No attempt starts later than this after the drop; default: 60,000, as long as a server keeps a session. */
  readonly timeLimitMs?: number;
  /** Delay before the first attempt; it doubles with each attempt. Half of each delay is random. Default: 250. */
  readonly firstDelayMs?: number;
  /** Max delay; default: 5,000. */
  readonly maxDelayMs?: number;
  /** Limit of one attempt; default: 10,000. */
  readonly attemptTimeoutMs?: number;
}

/** What happened to a connection that was not closed by the program. */
export type ConnectionChange =
  | {
      /** There is no connection: the client makes an attempt after a delay. Requests wait. */
      readonly state: 'reconnecting';
      /** The number of the attempt since the drop, from 1. */
      readonly attempt: number;
      readonly delayMs: number;
      /** The close code of the connection that dropped. */
      readonly code: number;
      /** Why the connection dropped; from the second attempt on, why the last attempt failed. */
      readonly reason: string;
    }
  | {
      /** The session goes on, on a new connection. */
      readonly state: 'resumed';
      readonly attempt: number;
      /** Frames that the server sends again. */
      readonly replayed: number;
      /** Requests that were sent again, because the server had not received them. */
      readonly resent: number;
    }
  | {
      /** The session is over for this client. All requests reject with `error`. */
      readonly state: 'lost';
      /** The close code of the connection that dropped. */
      readonly code: number;
      /** CONNECTION_DROPPED with the reason. */
      readonly error: Fault;
    };

/** The end of a channel, and what a session needs to be resumed after it. */
export interface Drop {
  readonly drop: ChannelEnd;
  readonly session: ResumeSessionRequest;
  /** An id that no other request of the session has. */
  readonly requestId: number;
  /** How often the session was resumed since its last new frame. Each doubles the delays, as a failed attempt does. */
  readonly idleResumes: number;
  /** Ends the attempts. */
  readonly signal: AbortSignal;
}

interface ResumeTask extends Drop {
  readonly options: Required<ReconnectOptions>;
  /** Connects to the server that has the session. */
  readonly open: (sessionId: string) => Promise<Channel>;
  readonly onChange: (change: ConnectionChange) => void;
  readonly onUnsolicited: (frame: ServerFrame) => void;
}

/** A channel on which a session was resumed. It has no listener yet. */
export interface ResumedChannel extends ResumeSessionResponse {
  readonly channel: Channel;
  readonly attempt: number;
}

/** The values of `ReconnectOptions` that are not given. */
export const defaultReconnectOptions: Required<ReconnectOptions> = {
  timeLimitMs: 60_000,
  firstDelayMs: 250,
  maxDelayMs: 5_000,
  attemptTimeoutMs: 10_000,
};

/**
 * The close codes after which a client does not reconnect: the server has ended the session, another connection has it,
 * or the same would happen again.
 */
export const finalCloseCodes: ReadonlySet<number> = new Set([
  closeCodes.goingAway,
  closeCodes.protocolError,
  closeCodes.frameTooLarge,
  closeCodes.wrongResumeToken,
  closeCodes.unknownSubprotocol,
  closeCodes.resumedElsewhere,
  closeCodes.limitExceeded,
]);

/** The delay before an attempt: exponential backoff; the second half of it is random, so that clients do not come at once. */
export function reconnectDelayMs(
  attempt: number,
  { firstDelayMs, maxDelayMs }: Pick<Required<ReconnectOptions>, 'firstDelayMs' | 'maxDelayMs'>,
  random = Math.random(),
): number {
  const delayMs = Math.min(maxDelayMs, firstDelayMs * 2 ** (attempt - 1));
  return Math.round(delayMs * (0.5 + random / 2));
}

/**
 * Connects again until the session is resumed.
 * @throws Fault CONNECTION_DROPPED when the server no longer has the session, or the time is up; the signal's reason.
 */
export async function reconnect(task: ResumeTask): Promise<ResumedChannel> {
  const { options, drop, signal } = task;
  const { timeLimitMs } = options;
  const droppedAtMs = performance.now();
  const dropped = droppedFault(drop);
  let reason = dropped.message;
  for (let attempt = 1; ; attempt++) {
    const remainingMs = droppedAtMs + timeLimitMs - performance.now();
    if (attempt > 1 && remainingMs <= 0) {
      throw sessionLost(`${dropped.message}, and no attempt to reconnect succeeded in ${timeLimitMs} ms: ${reason}`);
    }
    const ownDelayMs = reconnectDelayMs(attempt + task.idleResumes, options);
    const delayMs = Math.max(0, Math.floor(Math.min(remainingMs, ownDelayMs)));
    task.onChange({ state: 'reconnecting', attempt, delayMs, code: drop.code, reason });
    await onceAny(afterMs(delayMs), onAbort(signal));
    signal.throwIfAborted();
    try {
      return await attemptToResume(task, attempt);
    } catch (thrown) {
      signal.throwIfAborted();
      if (isFinal(thrown)) {
        throw sessionLost(`${dropped.message}, and the server cannot resume the session: ${thrown.message}`, thrown);
      }
      reason = connectFailureOf(thrown);
    }
  }
}

/** A Fault CONNECTION_DROPPED that says what to do after a session is lost. */
export const sessionLost = (reason: string, cause?: unknown): Fault =>
  new Fault(
    'CONNECTION_DROPPED',
    `${reason}; the session and its agents are gone: connect again and create the agents again, from saved dialogs`,
    { cause },
  );

async function attemptToResume(task: ResumeTask, attempt: number): Promise<ResumedChannel> {
  const { session, requestId, onUnsolicited, options } = task;
  const { attemptTimeoutMs } = options;
  const timeout = AbortSignal.timeout(Math.ceil(attemptTimeoutMs));
  let channel: Channel | undefined;
  try {
    channel = await task.open(session.sessionId);
    const handshake = { signal: AbortSignal.any([task.signal, timeout]), onUnsolicited };
    await waitForSession(channel, handshake);
    const response = await resumeSession(channel, requestId, session, handshake);
    return { ...response, channel, attempt };
  } catch (thrown) {
    channel?.close();
    if (thrown !== timeout.reason) throw thrown;
    throw new Fault('TIMEOUT', `the server did not answer within ${attemptTimeoutMs} ms`);
  }
}

// A server with too many connections may have fewer later; any other refusal is the same next time.
function isFinal(thrown: unknown): thrown is Error {
  if (thrown instanceof ChannelEnded)
    return thrown.code !== closeCodes.limitExceeded && finalCloseCodes.has(thrown.code);
  return thrown instanceof Fault && thrown.name !== 'TIMEOUT' && thrown.name !== 'CONNECTION_DROPPED';
}

/** Thrown when a channel ends before the frame that is waited for. Without a stack: it would name functions of `ws` only. */
class ChannelEnded extends Error {
  readonly code: number;

  constructor(end: ChannelEnd) {
    super(droppedFault(end).message);
    this.code = end.code;
    this.stack = String(this);
  }
}

export interface HandshakeOptions {
  readonly signal: AbortSignal;
  /** Called with frames that answer no request. */
  readonly onUnsolicited: (frame: ServerFrame) => void;
}

/**
 * Waits for the first frame of the server. Afterwards the channel has no listener.
 * @throws ChannelEnded, Fault CONNECTION_DROPPED for a frame that cannot be read, the signal's reason.
 */
export async function waitForSession(channel: Channel, options: HandshakeOptions): Promise<SessionReady> {
  return receiveFirst(channel, options, (frame) => (frame.body === 'sessionReady' ? frame.sessionReady : undefined));
}

/**
 * Asks the server to resume a session on this channel. Afterwards the channel has no listener, so that the frames that
 * the server sends again wait for one.
 * @throws Fault the error of the server; else as `waitForSession`.
 */
async function resumeSession(
  channel: Channel,
  requestId: number,
  request: ResumeSessionRequest,
  options: HandshakeOptions,
): Promise<ResumeSessionResponse> {
  channel.send(channel.codec.encode(requestFrame(requestId, 'resumeSession', request)));
  const answer = await receiveFirst(channel, options, (frame) => (frame.requestId === requestId ? frame : undefined));
  if (answer.body === 'error') throw toFault(answer.error);
  if (answer.body === 'resumeSession') return answer.resumeSession;
  throw malformed(`the server answered resumeSession with ${answer.body}`);
}

// Waits for the first frame from which `select` takes something, and detaches the channel with it.
function receiveFirst<Result>(
  channel: Channel,
  { signal, onUnsolicited }: HandshakeOptions,
  select: (frame: ServerFrame) => Result | undefined,
): Promise<Result> {
  const received = new Promise<Result>((resolve, reject) => {
    const fail = (reason: Error): void => {
      channel.detach();
      reject(reason);
    };
    channel.attach({
      receive(frame) {
        const result = select(frame);
        if (result !== undefined) {
          channel.detach();
          resolve(result);
        } else if (frame.requestId === 0 && frame.body !== 'sessionReady') onUnsolicited(frame);
      },
      receiveUnknown() {},
      receiveInvalid: (fault) => fail(faultOfEvent('the server sent a frame that cannot be read', fault)),
      end: (end) => fail(new ChannelEnded(end)),
    });
  });
  return raceAbort(received, signal).finally(() => channel.detach());
}

/** Why an attempt to connect failed, with a hint, from the message of the platform's WebSocket. */
export function connectFailureOf(thrown: unknown): string {
  const message = describeError(thrown);
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
