import type { ToolCall } from '../toolCall.ts';

/** The calls of one reply of the model. */
export interface ModelReply {
  readonly nodeName: string;
  /** The tool whose call was blocked: the calls after it are not run (`stopOnBlock`). */
  blockedTool?: string;
  /** All of its calls are here. */
  isComplete?: boolean;
  /** Aborted when the turn waits for no result of its calls any more. */
  readonly wait: AbortController;
}

/**
 * Finds out which calls are of the same reply. The server sends all calls of a reply before it takes a result, so calls
 * that come after an accepted result are of another reply.
 */
export class ReplyTracker {
  #current: ModelReply | undefined;
  #ended: { readonly reason: unknown } | undefined;

  /** The reply of a call that has just come. */
  replyOf({ nodeName }: ToolCall): ModelReply {
    const current = this.#current;
    if (current && !current.isComplete && current.nodeName === nodeName) return current;
    // The model answers again only when the turn waits for its last calls no more.
    current?.wait.abort(new DOMException('the turn went on without the result', 'AbortError'));
    const wait = new AbortController();
    if (this.#ended) wait.abort(this.#ended.reason);
    this.#current = { nodeName, wait };
    return this.#current;
  }

  /** Ends the wait for results of this reply, and of those that still come. */
  end(reason: unknown): void {
    this.#ended ??= { reason };
    this.#current?.wait.abort(reason);
  }
}
