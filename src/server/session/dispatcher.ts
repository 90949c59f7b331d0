import type { ClientFrame, ClientFrameBodies, ServerFrameBodies } from '../../protocol/frames.gen.ts';
import type { DecodeResult } from '../../protocol/codec/frame.ts';
import { Fault } from '../../protocol/fault.ts';
import { track } from '../../base/abort.ts';
import { sharedAdmission } from '../../base/eventLoop.ts';
import { countError } from '../metrics/metrics.ts';
import type { HandlerResult, Reply, Session } from './session.ts';
import { handlers } from './handlers.ts';
import type { QueuePlace, RequestQueue } from './requestQueue.ts';

export interface DispatcherSink {
  /** Sends the next frame of the session. */
  emit<K extends keyof ServerFrameBodies>(requestId: number, body: K, fields: ServerFrameBodies[K]): void;
  /** Is told of each request that is answered with an error, before that is sent. */
  requestFailed(requestId: number, fault: Fault): void;
  /** Sends the error and closes the connection. The session can be resumed. */
  closeWithError(fault: Fault): void;
  /** A request could not be answered, not even with an error: ends the session. */
  fail(fault: Fault): void;
}

// A cancel above this size, which only white space can reach, waits for backpressure like any other request.
const maxCancelBytes = 1024;

/**
 * Request dispatcher of one session: queues requests, decodes them and runs their handlers in order. It knows no
 * socket. Three orders hold at once:
 *
 * | queue               | holds                                        | order                                      |
 * | ------------------- | -------------------------------------------- | ------------------------------------------ |
 * | `#tail`             | every request                                | one handler at a time, in order of arrival |
 * | `#pendingByAgent`   | requests for an agent that is being created  | in order per agent, after its creation     |
 * | `#background`       | turns, loads, downloads, and the row above   | concurrent; nothing waits for them         |
 *
 * A handler that returns `{ background }` releases `#tail`, so that the next request is handled while that work
 * continues. Before each request except `cancelTurn`, both queues wait for backpressure: a client that does not read gets
 * no more answers. Requests of all sessions share the event loop by `sharedAdmission`.
 */
export class RequestDispatcher implements AsyncDisposable {
  readonly #session: Session;
  readonly #sink: DispatcherSink;
  readonly #queue: RequestQueue;
  readonly #background = new Set<Promise<unknown>>();
  /** By agent id: settles when the last request that waits for the agent's creation has been handled. */
  readonly #pendingByAgent = new Map<number, Promise<unknown>>();
  /** Whether a request is a resumeSession is known only when it is decoded. */
  readonly #undecoded = new Set<ReceivedRequest>();
  /** Requests received, without the decoded ones that are a resumeSession: those are no requests to the session. */
  #received = 0;
  /** Requests received without a final answer yet. */
  #unanswered = 0;
  #disposed = false;
  /** Settles when the handler of the last request has returned. */
  #tail: Promise<void> = Promise.resolve();

  constructor(session: Session, sink: DispatcherSink, queue: RequestQueue) {
    this.#session = session;
    this.#sink = sink;
    this.#queue = queue;
  }

  /** Requests received, those included that were answered with an error; without resumeSession. Decodes those that wait. */
  get requestsReceived(): number {
    return this.#received - [...this.#undecoded].filter(findResumeFrame).length;
  }

  /** Queues a request. Never throws: invalid frames are answered with an error. */
  receive(request: ReceivedRequest): void {
    const { maxRequests } = this.#session.context.limits;
    if (this.#disposed) return;
    if (this.#unanswered >= maxRequests) {
      const message = `${maxRequests} requests wait for their answer, and more are not allowed`;
      return this.#sink.closeWithError(new Fault('LIMIT_EXCEEDED', message));
    }
    this.#unanswered++;
    this.#received++;
    this.#undecoded.add(request);
    const place = this.#queue.add(request.bytes);
    this.#tail = this.#tail
      .then(() => this.#handle(request, place))
      .catch((error: unknown) => {
        place.release();
        this.#fail(error);
      });
  }

  /** Answers a request with an error at once. */
  reject(requestId: number, fault: Fault): void {
    this.#unanswered++;
    this.#sendError(requestId, fault);
  }

  /** Resolves when all requests received so far have been answered. */
  async idle(): Promise<void> {
    await this.#tail;
    await Promise.allSettled(this.#background);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#disposed = true;
    this.#queue.detach();
    await this.#session[Symbol.asyncDispose]();
    await this.idle();
  }

  async #handle(request: ReceivedRequest, place: QueuePlace): Promise<void> {
    await this.#untilReady(request);
    if (this.#disposed) return place.release();
    const decoded = request.decode();
    this.#undecoded.delete(request);
    if (findResumeFrame({ bytes: request.bytes, decode: () => decoded })) this.#received--;
    const requestId = decoded.ok ? decoded.frame.requestId : decoded.requestId;
    try {
      if (!decoded.ok) throw decoded.fault;
      const answer = await this.#answerInOrder(decoded.frame, request, place);
      if (answer) this.#trackBackground(requestId, answer.background);
      else this.#unanswered--;
    } catch (error) {
      place.release();
      this.#sendError(requestId, error);
    }
  }

  async #untilReady(request: ReceivedRequest): Promise<void> {
    for (;;) {
      while (!this.#mayAnswer(request)) await this.#session.backpressure();
      const admitted = sharedAdmission();
      if (!admitted) return;
      await admitted;
      if (this.#mayAnswer(request)) return;
    }
  }

  // Backpressure applies to answers as it does to turns. Not to a cancel: it stops the output, and its answer is small.
  #mayAnswer(request: ReceivedRequest): boolean {
    return !this.#session.backpressure() || isCancel(request);
  }

  // For an error that occurred while an error was being sent.
  #fail(error: unknown): void {
    this.#session.context.log.error({ session: this.#session.id, err: error }, 'a request could not be answered');
    this.#sink.fail(Fault.from(error));
  }

  #trackBackground(requestId: number, background: Promise<unknown>): void {
    const done = background.then(
      () => void this.#unanswered--,
      (error: unknown) => this.#sendError(requestId, error),
    );
    void track(this.#background, done);
  }

  // Requests for an agent that is still being created wait for it, in order; other requests are not blocked. So a
  // client can send createAgent and sendMessage together, with the id that the agent will get.
  async #answerInOrder(frame: ClientFrame, request: ReceivedRequest, place: QueuePlace): Promise<HandlerResult> {
    const agentId = agentIdOf(frame);
    const previous =
      agentId === undefined ? undefined : (this.#pendingByAgent.get(agentId) ?? this.#session.creation(agentId));
    if (agentId === undefined || !previous) {
      const answer = await this.#answer(frame);
      place.release();
      return answer;
    }
    place.defer();
    const result = previous.then(() => this.#answerDeferred(request)).finally(() => place.release());
    const tail = result.catch(() => undefined);
    this.#pendingByAgent.set(agentId, tail);
    void tail.then(() => this.#pendingByAgent.get(agentId) === tail && this.#pendingByAgent.delete(agentId));
    return { background: result.then((answer) => answer?.background) };
  }

  async #answerDeferred(request: ReceivedRequest): Promise<HandlerResult> {
    await this.#untilReady(request);
    const decoded = request.decode();
    if (!decoded.ok) throw decoded.fault;
    return this.#answer(decoded.frame);
  }

  #answer(frame: ClientFrame): HandlerResult | Promise<HandlerResult> {
    const reply: Reply = (body, fields) => this.#sink.emit(frame.requestId, body, fields);
    // `handlers` maps each body name to its handler; TypeScript cannot correlate the two.
    return handlers[frame.body](this.#session, frame[frame.body as never], reply);
  }

  #sendError(requestId: number, error: unknown): void {
    this.#unanswered--;
    const fault = Fault.from(error);
    const { code, name, message, detail, cause } = fault;
    const { metrics, closing, log } = this.#session.context;
    // What a client that has left was waiting for did not fail.
    if (!this.#disposed || closing.aborted) {
      countError(metrics, 'request', { code, name });
      this.#sink.requestFailed(requestId, fault);
    }
    if (name === 'INTERNAL')
      log.error({ session: this.#session.id, requestId, err: cause }, 'request failed with an internal error');
    this.#sink.emit(requestId, 'error', { code, name, message, detail });
  }
}

function isCancel(request: ReceivedRequest): boolean {
  if (request.bytes > maxCancelBytes) return false;
  const decoded = request.decode();
  return decoded.ok && decoded.frame.body === 'cancelTurn';
}

function agentIdOf(frame: ClientFrame): number | undefined {
  const request = frame[frame.body as never] as ClientFrameBodies[keyof ClientFrameBodies];
  return 'agentId' in request ? request.agentId : undefined;
}

/** A request as received. It waits in this form, because a decoded frame can take many times the memory of its bytes. */
export interface ReceivedRequest {
  readonly bytes: number;
  decode(): DecodeResult<ClientFrame>;
}

export type ResumeFrame = Extract<ClientFrame, { readonly body: 'resumeSession' }>;

// The first frame of a connection is decoded as soon as it is received, without waiting for its turn: it must be small.
const maxResumeBytes = 16 * 1024;

/** The resumeSession that a request is; undefined when it is another request, or has more than 16 KiB. */
export function findResumeFrame(request: ReceivedRequest): ResumeFrame | undefined {
  const decoded = request.bytes > maxResumeBytes ? undefined : request.decode();
  return decoded?.ok && decoded.frame.body === 'resumeSession' ? decoded.frame : undefined;
}
