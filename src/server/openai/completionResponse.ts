import { randomUUID } from 'node:crypto';
import type { ServerResponse } from 'node:http';
import type { ToolCallNotification } from '../../protocol/frames.gen.ts';
import type { CompletionEnd, CompletionOutput } from './completion.ts';
import type { SendBuffer } from '../sendBuffer.ts';
import type { ApiError } from './apiError.ts';

interface CompletionHead {
  readonly id: string;
  readonly created: number;
  readonly model: string;
}

export const newHead = (model: string): CompletionHead => ({
  id: `chatcmpl-${randomUUID()}`,
  created: Math.floor(Date.now() / 1000),
  model,
});

/** A call in OpenAI's form: its arguments are the JSON text of typed values. */
const toApiCall = ({ callId, toolName, typedArgumentsJson }: ToolCallNotification) =>
  ({ id: callId, type: 'function', function: { name: toolName, arguments: typedArgumentsJson } }) as const;

/** The usage of a response; cached tokens are those that were reused from a KV cache. */
const toUsage = ({ tokens }: CompletionEnd) => ({
  prompt_tokens: tokens.tokensPrompt,
  completion_tokens: tokens.tokensGenerated,
  total_tokens: tokens.tokensPrompt + tokens.tokensGenerated,
  prompt_tokens_details: { cached_tokens: tokens.tokensReused },
});

/** What turngraph adds to a response: the warnings of the turn, if there are any. */
const toExtras = ({ warnings }: CompletionEnd): object => (warnings.length === 0 ? {} : { turngraph: { warnings } });

export function completionBody(
  { id, created, model }: CompletionHead,
  { text, calls }: { readonly text: string; readonly calls: readonly ToolCallNotification[] },
  end: CompletionEnd,
): object {
  const message = {
    role: 'assistant',
    content: text === '' && calls.length > 0 ? null : text,
    refusal: null,
    ...(calls.length > 0 && { tool_calls: calls.map(toApiCall) }),
  };
  return {
    id,
    object: 'chat.completion',
    created,
    model,
    choices: [{ index: 0, message, logprobs: null, finish_reason: end.finishReason }],
    usage: toUsage(end),
    ...toExtras(end),
  };
}

/** A response as server-sent events: chunks with deltas, then `[DONE]`. It begins with the first of them. */
export class EventStream implements CompletionOutput {
  readonly #response: ServerResponse;
  readonly #head: CompletionHead;
  readonly #hasUsage: boolean;
  readonly #buffer: SendBuffer;

  /** @param includeUsage whether a last chunk has the usage. */
  constructor(
    response: ServerResponse,
    { head, includeUsage, buffer }: { head: CompletionHead; includeUsage: boolean; buffer: SendBuffer },
  ) {
    this.#response = response;
    this.#head = head;
    this.#hasUsage = includeUsage;
    this.#buffer = buffer;
  }

  text(piece: string): void {
    this.#delta({ content: piece });
  }

  call(call: ToolCallNotification, index: number): void {
    this.#delta({ tool_calls: [{ index, ...toApiCall(call) }] });
  }

  backpressure(): Promise<void> | undefined {
    return this.#buffer.drained();
  }

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
    const bytes = Buffer.from(`data: ${JSON.stringify(event)}\n\n`);
    this.#response.write(bytes, this.#buffer.track(bytes.length));
  }
}
