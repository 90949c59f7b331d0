import type { ClientFrameBodies, ServerFrameBodies } from '../../protocol/frames.gen.ts';
import type { Session } from './session.ts';

/** Sends one frame of the answer to a request. */
export type Reply = <K extends keyof ServerFrameBodies>(body: K, frame: ServerFrameBodies[K]) => void;

/** Result of a handler: nothing when the request is done, or work that continues while later requests are handled. */
export type HandlerResult = void | { readonly background: Promise<unknown> };

/**
 * One handler per client message of the proto; a message without one does not compile. A handler replies or throws a
 * Fault.
 */
export type Handlers = {
  readonly [K in keyof ClientFrameBodies]: (
    session: Session,
    request: ClientFrameBodies[K],
    reply: Reply,
  ) => HandlerResult | Promise<HandlerResult>;
};
