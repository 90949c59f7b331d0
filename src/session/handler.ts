import type { ClientFrameBodies } from '../frames.gen.ts';
import type { Reply } from './reply.ts';
import type { Session } from './session.ts';

/** A request is done, or goes on while the next ones take effect. */
export type HandlerResult = void | { readonly background: Promise<unknown> };

/** One handler per message of the proto: a message without one does not compile. It replies, or throws a Fault. */
export type Handlers = {
  readonly [K in keyof ClientFrameBodies]: (
    session: Session,
    request: ClientFrameBodies[K],
    reply: Reply,
  ) => HandlerResult | Promise<HandlerResult>;
};
