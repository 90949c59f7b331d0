import type { ServerResponse } from 'node:http';
import type { ToolCallNotification } from '../frames.gen.ts';
import type { ApiError } from './apiError.ts';
import type { CompletionEnd, CompletionOutput } from './completion.ts';
import { toApiCall, toExtras, toUsage, type CompletionHead } from './completionBody.ts';

const slowReaderTimeoutMs = 60_000;

/** A response as server-sent events: chunks with deltas, then `[DONE]`. It begins with the first of them. */
export class EventStream implements CompletionOutput {
  readonly #response: ServerResponse;
  readonly #head: CompletionHead;
  readonly #hasUsage: boolean;
  #pause: Promise<void> | undefined;

  /** @param includeUsage whether a last chunk has the usage. */
  constructor(response: ServerResponse, head: CompletionHead, includeUsage: boolean) {
    this.#response = response;
    this.#head = head;
    this.#hasUsage = includeUsage;
  }

  text(piece: string): void {
    this.#delta({ content: piece });
  }

  call(call: ToolCallNotification, index: number): void {
    this.#delta({ tool_calls: [{ index, ...toApiCall(call) }] });
  }

  backpressure(): Promise<void> | undefined {
    return this.#pause;
  }

  /** Ends the stream. */
  end(end: CompletionEnd): void {
    this.#delta({}, end.finishReason, toExtras(end));
    if (this.#hasUsage) this.#send({ ...this.#chunk([]), usage: toUsage(end) });
    this.#response.end('data: [DONE]\n\n');
  }

  /** Ends a stream that has begun with an error. */
  fail(error: ApiError): void {
    this.#send(error.body);
    this.#response.end();
  }

  #delta(delta: object, finishReason: string | null = null, extras: object = {}): void {
    if (!this.#response.headersSent) {
      const headers = { 'content-type': 'text/event-stream; charset=utf-8', 'cache-control': 'no-cache' };
      this.#response.writeHead(200, headers);
      this.#sendChoice({ role: 'assistant', content: '' }, null, {});
    }
    this.#sendChoice(delta, finishReason, extras);
  }

  #sendChoice(delta: object, finishReason: string | null, extras: object): void {
    const choice = { index: 0, delta, logprobs: null, finish_reason: finishReason };
    this.#send({ ...this.#chunk([choice]), ...(this.#hasUsage && { usage: null }), ...extras });
  }

  #chunk(choices: readonly object[]): object {
    const { id, created, model } = this.#head;
    return { id, object: 'chat.completion.chunk', created, model, choices };
  }

  #send(event: object): void {
    const isFlushed = this.#response.write(`data: ${JSON.stringify(event)}\n\n`);
    if (!isFlushed) this.#pause ??= this.#drained();
  }

  /** Resolves when the client has caught up; the connection of one that does not is closed. */
  #drained(): Promise<void> {
    return new Promise((resolve) => {
      const timeout = setTimeout(() => this.#response.destroy(), slowReaderTimeoutMs).unref();
      const done = (): void => {
        clearTimeout(timeout);
        this.#response.off('drain', done).off('close', done);
        this.#pause = undefined;
        resolve();
      };
      this.#response.on('drain', done).on('close', done);
    });
  }
}
