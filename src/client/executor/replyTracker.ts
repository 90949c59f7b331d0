import type { ToolCall } from '../toolCall.ts';

/** The calls of one reply of the model. */
export interface ModelReply {
  readonly nodeName: string;
  /** The tool whose call was blocked: the calls after it are not run (`stopOnBlock`). */
  blockedTool?: string;
  /** All of its calls are here. */
  isComplete?: boolean;
}

/**
 * Finds out which calls are of the same reply. The server sends all calls of a reply before it takes a result, so calls
 * that come after an accepted result are of another reply.
 */
export class ReplyTracker {
  #current: ModelReply | undefined;

  /** The reply of a call that has just come. */
  replyOf({ nodeName }: ToolCall): ModelReply {
    if (!this.#current || this.#current.isComplete || this.#current.nodeName !== nodeName) this.#current = { nodeName };
    return this.#current;
  }
}
