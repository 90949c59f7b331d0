import { Fault, malformed } from '../protocol/fault.ts';
import type { ClientFrameBodies, NodeEvent, ServerFrame, SessionReady } from '../protocol/frames.gen.ts';
import { closeCodes } from '../protocol/closeCodes.ts';
import { maxFrameBytes } from '../protocol/frameSize.ts';
import { requestFrame } from '../protocol/codec/json.ts';
import { type Channel, type ChannelEnd, type CloseInfo, droppedFault, faultOfEvent } from './channel.ts';
import { Lifetime } from './lifetime.ts';
import { type ClientLimits, type InternalRequestOptions, watchAnswer } from './limits.ts';
import { defaultOutboxLimits, Outbox } from './outbox.ts';
import { type ConnectionChange, type Drop, finalCloseCodes, type ResumedChannel, sessionLost } from './reconnect.ts';
import { EventJoiner, finalResponse, toFault, type TurnEvent, type RequestName, type ResponseTo } from './toolCall.ts';

/** What a connection calls, and its limits. The callbacks must not throw. */
export interface ConnectionHooks {
  readonly limits: Required<ClientLimits>;
  readonly onUnsolicited: (frame: ServerFrame) => void;
  readonly onChange: (change: ConnectionChange) => void;
  /** Finds a new channel for the session; undefined: the session ends with its channel. */
  readonly resume: ((drop: Drop) => Promise<ResumedChannel>) | undefined;
}

// A session is lost that was resumed so often without anything new, each time for less than this time.
const maxIdleResumes = 12;
const stableMs = 10_000;

interface PendingRequest {
  receive(frame: ServerFrame, bytes: number): void;
  fail(reason: unknown): void;
  /** Fails for a reason on this side. */
  giveUp(reason: unknown): void;
}

/** Matches responses to requests by id. Requests wait while its channel is replaced by one that resumes the session. */
export class Connection {
  /** Resolves when the connection has ended for good. Never rejects. */
  readonly closed: Promise<CloseInfo>;
  /** Ends with the Fault of pending requests when the connection is lost for good, or closed. */
  readonly lifetime = new Lifetime();
  readonly #session: SessionReady;
  readonly #hooks: ConnectionHooks;
  /** Undefined while there is no connection. */
  #channel: Channel | undefined;
  readonly #codec: Channel['codec'];
  readonly #outbox: Outbox;
  readonly #sequence = new FrameSequence();
  /** By request id. */
  readonly #pending = new Map<number, PendingRequest>();
  /** Ids of the agents that were created and not destroyed. */
  readonly #agents = new Set<number>();
  /** What gets the events after turns, by agent. */
  readonly #lateEvents = new Map<number, (part: NodeEvent) => void>();
  /** Why there is no connection, for the message of an error; "" while there is one. */
  #interruption = '';
  /** Ends the attempts to reconnect. */
  #reconnecting: AbortController | undefined;
  #lastRequestId = 0;
  #idleResumes = 0;
  #attachedAtMs = 0;
  /** Whether the program has paused the session. */
  #isPaused = false;
  /** What requests reject with once the connection has ended for good. */
  #dropped: Fault | undefined;
  #resolveClosed: (info: CloseInfo) => void = () => {};
  #interrupted: Promise<void> = Promise.resolve();
  #interrupt: () => void = () => {};

  constructor(channel: Channel, session: SessionReady, hooks: ConnectionHooks) {
    this.#session = session;
    this.#hooks = hooks;
    this.#codec = channel.codec;
    this.#outbox = new Outbox({ ...defaultOutboxLimits, ...(!hooks.resume && { keptBytes: 0 }) });
    this.closed = new Promise((resolve) => (this.#resolveClosed = resolve));
    this.#attach(channel);
  }

  /** Resolves when there is no connection, although another may follow. */
  get interrupted(): Promise<void> {
    return this.#interrupted;
  }

  /** Calls a listener, which must not throw, with the events of an agent that come after their turns. */
  onLateEvent(agentId: number, listener: (event: TurnEvent) => void): void {
    const joiner = new EventJoiner();
    this.#lateEvents.set(agentId, (part) => {
      const event = joiner.add(part);
      if (event) listener(event);
    });
  }

  /**
   * Sends a request and waits for its final response. Nothing is sent when a field has the wrong type.
   * @throws Fault the error of an ErrorResponse, MALFORMED_MESSAGE, FRAME_TOO_LARGE, TIMEOUT, CONNECTION_DROPPED,
   * LIMIT_EXCEEDED when too many requests wait for a connection.
   */
  async request<Name extends RequestName>(
    name: Name,
    fields: { readonly [Field in keyof ClientFrameBodies[Name]]?: ClientFrameBodies[Name][Field] | undefined } = {},
    options: InternalRequestOptions = {},
  ): Promise<ResponseTo<Name>> {
    options.signal?.throwIfAborted();
    const ended = this.#ended();
    if (ended) throw ended;
    const requestId = ++this.#lastRequestId;
    const frame = requestFrame(requestId, name, fields);
    const data = this.#codec.encode(frame);
    const bytes = bytesThatFit(data, name, fields);
    let release = (): void => {};
    try {
      const response = await new Promise<ResponseTo<Name>>((resolve, reject) => {
        const watch = watchAnswer(name, this.#hooks.limits, options, () => this.#isPaused, reject);
        release = watch.end;
        const receive = (answer: ServerFrame, size: number): void => {
          if (answer.body === 'error') return reject(toFault(answer.error));
          watch.count(answer, size);
          options.onFrame?.(answer);
          const final = finalResponse(name, answer);
          if (final) resolve(final);
        };
        this.#pending.set(requestId, { receive, fail: reject, giveUp: watch.giveUp });
        this.#outbox.add({ requestId, data, bytes });
        this.#sendQueued();
      });
      if (frame.body === 'setPace') this.#isPaused = frame.setPace.paused;
      if (frame.body === 'destroyAgent') {
        this.#agents.delete(frame.destroyAgent.agentId);
        this.#lateEvents.delete(frame.destroyAgent.agentId);
      }
      return response;
    } finally {
      release();
      this.#pending.delete(requestId);
      this.#outbox.withdraw(requestId);
    }
  }

  /** Destroys the agents of the session without waiting, and closes. Pending requests reject with CONNECTION_DROPPED. */
  async close(): Promise<void> {
    const channel = this.#channel;
    // A server keeps the agents of a session for some time after its connection has ended.
    if (!this.#dropped && channel?.isOpen) {
      for (const agentId of this.#agents) {
        channel.send(this.#codec.encode(requestFrame(++this.#lastRequestId, 'destroyAgent', { agentId })));
      }
    }
    this.#drop(faultOfEvent(`${this.#interruption}the client closed the connection`));
    if (channel) channel.close(closeCodes.normal);
    else this.#resolveClosed({ code: closeCodes.normal, reason: '' });
    this.#reconnecting?.abort();
    await this.closed;
  }

  #attach(channel: Channel): void {
    this.#channel = channel;
    this.#interruption = '';
    this.#attachedAtMs = performance.now();
    this.#interrupted = new Promise((resolve) => (this.#interrupt = resolve));
    channel.attach({
      receive: (frame, bytes) => this.#receive(frame, bytes),
      receiveUnknown: () => this.#sequence.skipUnknown(),
      receiveInvalid: (fault) => this.#fail(faultOfEvent('the server sent a frame that cannot be read', fault)),
      end: (end) => this.#end(end),
    });
  }

  #sendQueued(): void {
    if (!this.#channel?.isOpen) return;
    for (const { data } of this.#outbox.takeQueued()) this.#channel.send(data);
  }

  #receive(frame: ServerFrame, bytes: number): void {
    if (this.#dropped) return;
    try {
      if (!this.#sequence.accept(frame.seq)) return;
    } catch (thrown) {
      return this.#fail(faultOfEvent('the server broke the protocol', Fault.from(thrown)));
    }
    if (frame.requestId === 0) {
      if (frame.body === 'nodeEvent') this.#lateEvents.get(frame.nodeEvent.agentId)?.(frame.nodeEvent);
      return this.#hooks.onUnsolicited(frame);
    }
    if (frame.seq > 0) this.#idleResumes = 0;
    this.#outbox.acknowledge(frame.requestId);
    // Also when the request was aborted.
    if (frame.body === 'createAgent') this.#agents.add(frame.createAgent.agentId);
    const request = this.#pending.get(frame.requestId);
    try {
      request?.receive(frame, bytes);
    } catch (thrown) {
      request?.giveUp(thrown);
    }
  }

  #end(end: ChannelEnd): void {
    this.#channel = undefined;
    this.#interrupt();
    const { resume } = this.#hooks;
    this.#interruption = `${droppedFault(end).message}; `;
    if (this.#dropped) this.#resolveClosed({ code: end.code, reason: end.reason });
    else if (!resume || finalCloseCodes.has(end.code)) this.#lose(droppedFault(end), end);
    else void this.#resume(end, resume);
  }

  async #resume(drop: ChannelEnd, resume: NonNullable<ConnectionHooks['resume']>): Promise<void> {
    const aborter = new AbortController();
    const { signal } = aborter;
    this.#reconnecting = aborter;
    const { sessionId, resumeToken } = this.#session;
    const session = { sessionId, resumeToken, lastSeq: this.#sequence.last };
    try {
      if (performance.now() - this.#attachedAtMs > stableMs) this.#idleResumes = 0;
      const idleResumes = this.#idleResumes++;
      if (idleResumes === maxIdleResumes)
        throw sessionLost(`${droppedFault(drop).message}, as ${idleResumes} connections before it`);
      const resumed = await resume({ drop, session, requestId: ++this.#lastRequestId, idleResumes, signal });
      if (signal.aborted) return resumed.channel.close();
      this.#continueOn(resumed, drop);
    } catch (thrown) {
      if (!signal.aborted) this.#lose(Fault.from(thrown), drop);
    }
  }

  #continueOn({ channel, attempt, replayed, requestsReceived }: ResumedChannel, drop: ChannelEnd): void {
    const resent = this.#outbox.rewind(requestsReceived);
    if (resent === undefined) {
      channel.close();
      const reason = `the server has received ${requestsReceived} requests, and those after them are no longer held`;
      return this.#lose(sessionLost(`${droppedFault(drop).message}, and ${reason}`), drop);
    }
    this.#sequence.restart();
    this.#channel = channel;
    this.#sendQueued();
    this.#hooks.onChange({ state: 'resumed', attempt, replayed, resent });
    this.#attach(channel);
  }

  // What a request rejects with when the connection has ended. A socket that is closing sends nothing more, but its
  // close event may be far away.
  #ended(): Fault | undefined {
    if (this.#dropped || this.#hooks.resume || this.#channel?.isOpen) return this.#dropped;
    return faultOfEvent('the connection is closing');
  }

  // The server breaks the protocol, so another connection would not help.
  #fail(fault: Fault): void {
    if (this.#dropped) return;
    this.#drop(fault);
    this.#channel?.close();
    this.#hooks.onChange({ state: 'lost', code: closeCodes.normal, error: fault });
  }

  #lose(fault: Fault, { code, reason }: CloseInfo): void {
    this.#drop(fault);
    this.#resolveClosed({ code, reason });
    this.#hooks.onChange({ state: 'lost', code, error: fault });
  }

  #drop(fault: Fault): void {
    if (this.#dropped) return;
    this.#dropped = fault;
    for (const { fail } of this.#pending.values()) fail(fault);
    this.lifetime.end(fault);
  }
}

// The size of a frame. @throws Fault FRAME_TOO_LARGE
function bytesThatFit(data: string | Uint8Array, name: RequestName, fields: object): number {
  const bytes = typeof data === 'string' ? new TextEncoder().encode(data).length : data.length;
  if (bytes <= maxFrameBytes) return bytes;
  const size = (value: unknown): number => JSON.stringify(value ?? '').length;
  const [longest] = Object.entries(fields).sort(([, a], [, b]) => size(b) - size(a));
  const what = `${name} has ${bytes} bytes, most of them in ${longest?.[0]}`;
  const limit = `a frame may have ${maxFrameBytes}; nothing was sent: send less at a time`;
  throw new Fault('FRAME_TOO_LARGE', `${what}, and ${limit}`);
}

/** Checks the sequence numbers of a session's frames, which count from 1 without gaps. */
export class FrameSequence {
  #last = 0;
  // Frames of types that this client does not know: their numbers cannot be read.
  #unknown = 0;

  /** The number of the last frame received. */
  get last(): number {
    return this.#last;
  }

  /** A frame of an unknown type has been received. */
  skipUnknown(): void {
    this.#unknown++;
  }

  /** The frames after the last one come again, on another connection. */
  restart(): void {
    this.#unknown = 0;
  }

  /** Whether a frame is new; 0 is never sent again. @throws Fault MALFORMED_MESSAGE when frames are missing. */
  accept(seq: number): boolean {
    if (seq === 0) return true;
    if (seq <= this.#last) return false;
    if (seq > this.#last + 1 + this.#unknown) {
      throw malformed(
        `the server sent the frame with seq ${seq} after ${this.#last}, so frames are missing; connect again`,
      );
    }
    this.#unknown = 0;
    this.#last = seq;
    return true;
  }
}
