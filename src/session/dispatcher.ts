import { Fault } from '../fault.ts';
import type { ClientFrame, ClientFrameBodies, ServerFrame, ServerFrameBodies } from '../frames.gen.ts';
import type { DecodeResult } from '../wire/frameReader.ts';
import { countError } from '../metrics/countError.ts';
import { serverFrame } from '../wire/frame.ts';
import type { HandlerResult, Reply } from './handler.ts';
import { handlers } from './handlers.ts';
import type { Session } from './session.ts';

/** Where the frames of a session go. */
export interface FrameSink {
  /** Puts a frame on its way. */
  send(frame: ServerFrame): void;
  /** Ends the connection, saying why: the client asks too much of it. */
  closeWithError(fault: Fault): void;
}

/**
 * The protocol of one session, without a socket: takes requests, has them take effect in the order of their arrival,
 * and numbers the frames that go out.
 */
export class RequestDispatcher implements AsyncDisposable {
  readonly #session: Session;
  readonly #sink: FrameSink;
  readonly #turns = new Set<Promise<unknown>>();
  /** By agent id: the last of the requests that came before their agent was made, until it has taken effect. */
  readonly #pendingByAgent = new Map<number, Promise<unknown>>();
  #seq = 0;
  #unanswered = 0;
  #closedByUs = false;
  #ended = false;
  #tail: Promise<void> = Promise.resolve();

  constructor(session: Session, outlet: FrameSink) {
    this.#session = session;
    this.#sink = outlet;
  }

  /** Takes what a codec has read. Never throws: what is wrong with it is answered. */
  receive(decoded: DecodeResult<ClientFrame>): void {
    const { requests } = this.#session.context.limits;
    if (this.#closedByUs) return;
    if (this.#unanswered >= requests) {
      this.#closedByUs = true;
      this.#sink.closeWithError(
        new Fault('LIMIT_EXCEEDED', `${requests} requests wait for their answer, and more are not allowed`),
      );
      return;
    }
    this.#unanswered++;
    this.#tail = this.#tail.then(() => this.#handle(decoded)).catch((error: unknown) => this.#closeWithError(error));
  }

  /** Resolves when everything that was asked has been answered. */
  async idle(): Promise<void> {
    await this.#tail;
    await Promise.allSettled(this.#turns);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#ended = true;
    await this.#session[Symbol.asyncDispose]();
    await this.idle();
  }

  async #handle(decoded: DecodeResult<ClientFrame>): Promise<void> {
    const requestId = decoded.ok ? decoded.frame.requestId : decoded.requestId;
    // Answers are paced as turns are; a cancel is the way out, and its answer is small.
    if (!(decoded.ok && decoded.frame.body === 'cancelTurn')) await this.#session.backpressure();
    if (this.#ended) return;
    try {
      if (!decoded.ok) throw decoded.fault;
      const answer = await this.#answer(decoded.frame);
      if (answer) this.#trackBackground(requestId, answer.background);
      else this.#unanswered--;
    } catch (error) {
      this.#sendError(requestId, error);
    }
  }

  // An error that even refusing could not tell of.
  #closeWithError(error: unknown): void {
    this.#session.context.log.error({ session: this.#session.id, err: error }, 'a request could not be answered');
    this.#closedByUs = true;
    this.#sink.closeWithError(Fault.from(error));
  }

  #trackBackground(requestId: number, background: Promise<unknown>): void {
    const done = background.then(
      () => void this.#unanswered--,
      (error: unknown) => this.#sendError(requestId, error),
    );
    this.#turns.add(done);
    void done.then(() => this.#turns.delete(done));
  }

  #answer(frame: ClientFrame): HandlerResult | Promise<HandlerResult> {
    const reply: Reply = (body, fields) => this.#emit(frame.requestId, body, fields);
    // The table has the handler of each body under its name; that the two belong together is beyond the type checker.
    const handle = handlers[frame.body] as (
      session: Session,
      request: ClientFrameBodies[keyof ClientFrameBodies],
      reply: Reply,
    ) => HandlerResult | Promise<HandlerResult>;
    const request = frame[frame.body as never] as ClientFrameBodies[keyof ClientFrameBodies];
    const work = (): HandlerResult | Promise<HandlerResult> => handle(this.#session, request, reply);
    return 'agentId' in request ? this.#afterCreation(request.agentId, work) : work();
  }

  // Who speaks to an agent without having waited for it finds it made, and is heard in order; nobody else waits for that.
  #afterCreation(
    agentId: number,
    work: () => HandlerResult | Promise<HandlerResult>,
  ): HandlerResult | Promise<HandlerResult> {
    const before = this.#pendingByAgent.get(agentId) ?? this.#session.creation(agentId);
    if (!before) return work();
    const worked = before.then(work);
    const tail = worked.catch(() => undefined);
    this.#pendingByAgent.set(agentId, tail);
    void tail.then(() => this.#pendingByAgent.get(agentId) === tail && this.#pendingByAgent.delete(agentId));
    return { background: worked.then((answer) => answer?.background) };
  }

  #sendError(requestId: number, error: unknown): void {
    this.#unanswered--;
    const { code, name, message, detail, cause } = Fault.from(error);
    countError(this.#session.context.metrics, 'request', { code, name });
    if (name === 'INTERNAL')
      this.#session.context.log.error({ session: this.#session.id, requestId, err: cause }, 'request failed inside');
    this.#emit(requestId, 'error', { code, name, message, detail });
  }

  #emit<K extends keyof ServerFrameBodies>(requestId: number, body: K, fields: ServerFrameBodies[K]): void {
    this.#sink.send(serverFrame(requestId, ++this.#seq, body, fields));
  }
}
