import { Fault } from '../fault.ts';
import type { ClientFrame, ClientFrameBodies, ServerFrame, ServerFrameBodies } from '../frames.gen.ts';
import type { Decoded } from '../wire/reading.ts';
import { serverFrame } from '../wire/frame.ts';
import { handlers, type Answer, type Reply } from './handlers.ts';
import type { Session } from './session.ts';

/**
 * The protocol of one session, without a socket: takes requests, has them take effect in the order of their arrival,
 * and numbers the frames that go out.
 */
export class Conversation implements AsyncDisposable {
  readonly #session: Session;
  readonly #send: (frame: ServerFrame) => void;
  #seq = 0;
  #tail: Promise<void> = Promise.resolve();

  /** @param send puts a frame on its way; it is not called any more once the conversation is disposed of. */
  constructor(session: Session, send: (frame: ServerFrame) => void) {
    this.#session = session;
    this.#send = send;
  }

  /** Takes what a codec has read. Never throws: what is wrong with it is answered. */
  receive(decoded: Decoded<ClientFrame>): void {
    this.#tail = this.#tail.then(() => this.#handle(decoded));
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#session[Symbol.asyncDispose]();
    await this.#tail;
    // What was still in the queue may have made agents.
    await this.#session[Symbol.asyncDispose]();
  }

  async #handle(decoded: Decoded<ClientFrame>): Promise<void> {
    if (!decoded.ok) return this.#refuse(decoded.requestId, decoded.fault);
    const { frame } = decoded;
    try {
      const answer = await this.#answer(frame);
      answer?.meanwhile.catch((error: unknown) => this.#refuse(frame.requestId, error));
    } catch (error) {
      this.#refuse(frame.requestId, error);
    }
  }

  #answer(frame: ClientFrame): Answer | Promise<Answer> {
    const reply: Reply = (body, fields) => this.#emit(frame.requestId, body, fields);
    // The table has the handler of each body under its name; that the two belong together is beyond the type checker.
    const handle = handlers[frame.body] as (
      session: Session,
      request: ClientFrameBodies[keyof ClientFrameBodies],
      reply: Reply,
    ) => Answer | Promise<Answer>;
    return handle(this.#session, frame[frame.body as never], reply);
  }

  #refuse(requestId: number, error: unknown): void {
    const { code, name, message, detail, cause } = Fault.from(error);
    if (name === 'INTERNAL')
      this.#session.house.log.error({ session: this.#session.id, requestId, err: cause }, 'request failed inside');
    this.#emit(requestId, 'error', { code, name, message, detail });
  }

  #emit<K extends keyof ServerFrameBodies>(requestId: number, body: K, fields: ServerFrameBodies[K]): void {
    this.#send(serverFrame(requestId, ++this.#seq, body, fields));
  }
}
