import { Fault } from '../fault.ts';
import type { ClientFrame, ClientFrameBodies, ServerFrame, ServerFrameBodies } from '../frames.gen.ts';
import type { DecodeResult } from '../wire/frameReader.ts';
import { countError } from '../metrics/metrics.ts';
import { serverFrame } from '../wire/frame.ts';
import type { HandlerResult, Reply } from './handler.ts';
import { handlers } from './handlers.ts';
import type { Session } from './session.ts';

/** Receives the frames of a session: the connection. */
export interface FrameSink {
  /** Queues a frame for sending. */
  send(frame: ServerFrame): void;
  /** Sends the error and closes the connection. */
  closeWithError(fault: Fault): void;
}

/**
 * Request dispatcher of one session: queues decoded requests, runs their handlers in order and numbers the frames that
 * are sent. It knows no socket. Three orders hold at once:
 *
 * | queue               | holds                                        | order                                      |
 * | ------------------- | -------------------------------------------- | ------------------------------------------ |
 * | `#tail`             | every request                                | one handler at a time, in order of arrival |
 * | `#pendingByAgent`   | requests for an agent that is being created  | in order per agent, after its creation     |
 * | `#background`       | turns, loads, downloads, and the row above   | concurrent; nothing waits for them         |
 *
 * A handler that returns `{ background }` releases `#tail`, so that the next request is handled while that work
 * continues. Before each request except `cancelTurn`, `#tail` waits for backpressure: a client that does not read gets
 * no more answers.
 */
export class RequestDispatcher implements AsyncDisposable {
  readonly #session: Session;
  readonly #sink: FrameSink;
  readonly #background = new Set<Promise<unknown>>();
  /** By agent id: settles when the last request that waits for the agent's creation has been handled. */
  readonly #pendingByAgent = new Map<number, Promise<unknown>>();
  /** The number of the last frame sent. */
  #seq = 0;
  /** Requests received without a final answer yet. */
  #unanswered = 0;
  #closedWithError = false;
  #disposed = false;
  /** Settles when the handler of the last request has returned. */
  #tail: Promise<void> = Promise.resolve();

  constructor(session: Session, sink: FrameSink) {
    this.#session = session;
    this.#sink = sink;
  }

  /** Queues a decoded request. Never throws: invalid frames are answered with an error. */
  receive(decoded: DecodeResult<ClientFrame>): void {
    const { requests } = this.#session.context.limits;
    if (this.#closedWithError) return;
    if (this.#unanswered >= requests) {
      this.#closedWithError = true;
      this.#sink.closeWithError(
        new Fault('LIMIT_EXCEEDED', `${requests} requests wait for their answer, and more are not allowed`),
      );
      return;
    }
    this.#unanswered++;
    this.#tail = this.#tail.then(() => this.#handle(decoded)).catch((error: unknown) => this.#closeWithError(error));
  }

  /** Resolves when all requests received so far have been answered. */
  async idle(): Promise<void> {
    await this.#tail;
    await Promise.allSettled(this.#background);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#disposed = true;
    await this.#session[Symbol.asyncDispose]();
    await this.idle();
  }

  async #handle(decoded: DecodeResult<ClientFrame>): Promise<void> {
    const requestId = decoded.ok ? decoded.frame.requestId : decoded.requestId;
    // Backpressure applies to answers as it does to turns. Not to a cancel: it stops the output, and its answer is
    // small.
    if (!(decoded.ok && decoded.frame.body === 'cancelTurn')) await this.#session.backpressure();
    if (this.#disposed) return;
    try {
      if (!decoded.ok) throw decoded.fault;
      const answer = await this.#answer(decoded.frame);
      if (answer) this.#trackBackground(requestId, answer.background);
      else this.#unanswered--;
    } catch (error) {
      this.#sendError(requestId, error);
    }
  }

  // For an error that occurred while an error was being sent.
  #closeWithError(error: unknown): void {
    this.#session.context.log.error({ session: this.#session.id, err: error }, 'a request could not be answered');
    this.#closedWithError = true;
    this.#sink.closeWithError(Fault.from(error));
  }

  #trackBackground(requestId: number, background: Promise<unknown>): void {
    const done = background.then(
      () => void this.#unanswered--,
      (error: unknown) => this.#sendError(requestId, error),
    );
    this.#background.add(done);
    void done.then(() => this.#background.delete(done));
  }

  #answer(frame: ClientFrame): HandlerResult | Promise<HandlerResult> {
    const reply: Reply = (body, fields) => this.#emit(frame.requestId, body, fields);
    // `handlers` maps each body name to its handler; TypeScript cannot correlate the two.
    const handle = handlers[frame.body] as (
      session: Session,
      request: ClientFrameBodies[keyof ClientFrameBodies],
      reply: Reply,
    ) => HandlerResult | Promise<HandlerResult>;
    const request = frame[frame.body as never] as ClientFrameBodies[keyof ClientFrameBodies];
    const run = (): HandlerResult | Promise<HandlerResult> => handle(this.#session, request, reply);
    return 'agentId' in request ? this.#afterCreation(request.agentId, run) : run();
  }

  // Requests for an agent that is still being created wait for it, in order; other requests are not blocked. So a
  // client can send createAgent and sendMessage together, with the id that the agent will get.
  #afterCreation(
    agentId: number,
    run: () => HandlerResult | Promise<HandlerResult>,
  ): HandlerResult | Promise<HandlerResult> {
    const previous = this.#pendingByAgent.get(agentId) ?? this.#session.creation(agentId);
    if (!previous) return run();
    const result = previous.then(run);
    const tail = result.catch(() => undefined);
    this.#pendingByAgent.set(agentId, tail);
    void tail.then(() => this.#pendingByAgent.get(agentId) === tail && this.#pendingByAgent.delete(agentId));
    return { background: result.then((answer) => answer?.background) };
  }

  #sendError(requestId: number, error: unknown): void {
    this.#unanswered--;
    const { code, name, message, detail, cause } = Fault.from(error);
    const { metrics, closing } = this.#session.context;
    // What a client that has left was waiting for did not fail.
    if (!this.#disposed || closing.aborted) countError(metrics, 'request', { code, name });
    if (name === 'INTERNAL')
      this.#session.context.log.error(
        { session: this.#session.id, requestId, err: cause },
        'request failed with an internal error',
      );
    this.#emit(requestId, 'error', { code, name, message, detail });
  }

  #emit<K extends keyof ServerFrameBodies>(requestId: number, body: K, fields: ServerFrameBodies[K]): void {
    this.#sink.send(serverFrame(requestId, ++this.#seq, body, fields));
  }
}
