import { Fault } from '../fault.ts';
import type { ClientFrame, ClientFrameBodies, ServerFrame, ServerFrameBodies } from '../frames.gen.ts';
import type { Decoded } from '../wire/frameReader.ts';
import { countError } from '../metrics/countError.ts';
import { serverFrame } from '../wire/frame.ts';
import type { Answer } from './handler.ts';
import { handlers } from './handlers.ts';
import type { Reply } from './reply.ts';
import type { Session } from './session.ts';

/** Where the frames of a session go. */
export interface Outlet {
  /** Puts a frame on its way. */
  send(frame: ServerFrame): void;
  /** Ends the connection, saying why: the client asks too much of it. */
  hangUp(fault: Fault): void;
}

/**
 * The protocol of one session, without a socket: takes requests, has them take effect in the order of their arrival,
 * and numbers the frames that go out.
 */
export class Conversation implements AsyncDisposable {
  readonly #session: Session;
  readonly #outlet: Outlet;
  readonly #turns = new Set<Promise<unknown>>();
  /** By agent id: the last of the requests that came before their agent was made, until it has taken effect. */
  readonly #early = new Map<number, Promise<unknown>>();
  #seq = 0;
  #unanswered = 0;
  #hungUp = false;
  #ended = false;
  #tail: Promise<void> = Promise.resolve();

  constructor(session: Session, outlet: Outlet) {
    this.#session = session;
    this.#outlet = outlet;
  }

  /** Takes what a codec has read. Never throws: what is wrong with it is answered. */
  receive(decoded: Decoded<ClientFrame>): void {
    const { requests } = this.#session.house.limits;
    if (this.#hungUp) return;
    if (this.#unanswered >= requests) {
      this.#hungUp = true;
      this.#outlet.hangUp(
        new Fault('LIMIT_EXCEEDED', `${requests} requests wait for their answer, and more are not allowed`),
      );
      return;
    }
    this.#unanswered++;
    this.#tail = this.#tail.then(() => this.#handle(decoded)).catch((error: unknown) => this.#giveUp(error));
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

  async #handle(decoded: Decoded<ClientFrame>): Promise<void> {
    const requestId = decoded.ok ? decoded.frame.requestId : decoded.requestId;
    // Answers are paced as turns are; a cancel is the way out, and its answer is small.
    if (!(decoded.ok && decoded.frame.body === 'cancelTurn')) await this.#session.pace();
    if (this.#ended) return;
    try {
      if (!decoded.ok) throw decoded.fault;
      const answer = await this.#answer(decoded.frame);
      if (answer) this.#goOn(requestId, answer.meanwhile);
      else this.#unanswered--;
    } catch (error) {
      this.#refuse(requestId, error);
    }
  }

  // An error that even refusing could not tell of.
  #giveUp(error: unknown): void {
    this.#session.house.log.error({ session: this.#session.id, err: error }, 'a request could not be answered');
    this.#hungUp = true;
    this.#outlet.hangUp(Fault.from(error));
  }

  #goOn(requestId: number, meanwhile: Promise<unknown>): void {
    const done = meanwhile.then(
      () => void this.#unanswered--,
      (error: unknown) => this.#refuse(requestId, error),
    );
    this.#turns.add(done);
    void done.then(() => this.#turns.delete(done));
  }

  #answer(frame: ClientFrame): Answer | Promise<Answer> {
    const reply: Reply = (body, fields) => this.#emit(frame.requestId, body, fields);
    // The table has the handler of each body under its name; that the two belong together is beyond the type checker.
    const handle = handlers[frame.body] as (
      session: Session,
      request: ClientFrameBodies[keyof ClientFrameBodies],
      reply: Reply,
    ) => Answer | Promise<Answer>;
    const request = frame[frame.body as never] as ClientFrameBodies[keyof ClientFrameBodies];
    const work = (): Answer | Promise<Answer> => handle(this.#session, request, reply);
    return 'agentId' in request ? this.#inTurn(request.agentId, work) : work();
  }

  // Who speaks to an agent without having waited for it finds it made, and is heard in order; nobody else waits for that.
  #inTurn(agentId: number, work: () => Answer | Promise<Answer>): Answer | Promise<Answer> {
    const before = this.#early.get(agentId) ?? this.#session.made(agentId);
    if (!before) return work();
    const worked = before.then(work);
    const tail = worked.catch(() => undefined);
    this.#early.set(agentId, tail);
    void tail.then(() => this.#early.get(agentId) === tail && this.#early.delete(agentId));
    return { meanwhile: worked.then((answer) => answer?.meanwhile) };
  }

  #refuse(requestId: number, error: unknown): void {
    this.#unanswered--;
    const { code, name, message, detail, cause } = Fault.from(error);
    countError(this.#session.house.metrics, 'request', { code, name });
    if (name === 'INTERNAL')
      this.#session.house.log.error({ session: this.#session.id, requestId, err: cause }, 'request failed inside');
    this.#emit(requestId, 'error', { code, name, message, detail });
  }

  #emit<K extends keyof ServerFrameBodies>(requestId: number, body: K, fields: ServerFrameBodies[K]): void {
    this.#outlet.send(serverFrame(requestId, ++this.#seq, body, fields));
  }
}
