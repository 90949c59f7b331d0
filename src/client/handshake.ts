import { describeError, malformed } from '../protocol/fault.ts';
import type { ResumeSessionRequest, ResumeSessionResponse, ServerFrame, SessionReady } from '../protocol/frames.gen.ts';
import { requestFrame } from '../protocol/codec/requestFrame.ts';
import { type Channel, type ChannelEnd, droppedFault, faultOfEvent } from './channel.ts';
import { toFault } from './responses.ts';

/** Thrown when a channel ends before the frame that is waited for. */
export class ChannelEnded extends Error {
  readonly end: ChannelEnd;

  constructor(end: ChannelEnd) {
    super(droppedFault(end).message);
    this.end = end;
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
export async function resumeSession(
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
  return new Promise((resolve, reject) => {
    const stop = (): void => {
      channel.detach();
      signal.removeEventListener('abort', onAbort);
    };
    const fail = (reason: unknown): void => {
      stop();
      reject(reason);
    };
    const onAbort = (): void => fail(signal.reason);
    if (signal.aborted) return onAbort();
    signal.addEventListener('abort', onAbort);
    channel.attach({
      receive(frame) {
        const result = select(frame);
        if (result === undefined) {
          if (frame.requestId === 0 && frame.body !== 'sessionReady') onUnsolicited(frame);
          return;
        }
        stop();
        resolve(result);
      },
      receiveUnknown() {},
      receiveInvalid: (fault) => fail(faultOfEvent('the server sent a frame that cannot be read', fault)),
      end: (end) => fail(new ChannelEnded(end)),
    });
  });
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
