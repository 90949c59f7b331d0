import { randomUUID } from 'node:crypto';
import type { ServerResponse } from 'node:http';
import type { ToolCallNotification } from '../../protocol/frames.gen.ts';
import type { CompletionEnd } from './completion.ts';
import type { SendBuffer } from '../sendBuffer.ts';
import type { ApiError } from './apiError.ts';

type CompletionHead = ReturnType<typeof newHead>;

export const newHead = (model: string) => ({
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

/**
 * A response as server-sent events: chunks with deltas, then `[DONE]`. It begins with the first of them.
 * @param includeUsage whether a last chunk has the usage.
 */
export function eventStream(
  response: ServerResponse,
  { head, includeUsage, buffer }: { head: CompletionHead; includeUsage: boolean; buffer: SendBuffer },
) {
  const { id, created, model } = head;
  const chunk = (choices: readonly object[]) => ({ id, object: 'chat.completion.chunk', created, model, choices });
  const send = (event: object): void => {
    const bytes = Buffer.from(`data: ${JSON.stringify(event)}\n\n`);
    response.write(bytes, buffer.track(bytes.length));
  };
  const sendDelta = (delta: object, finishReason: string | null = null, extras: object = {}): void => {
    if (!response.headersSent) {
      response.writeHead(200, { 'content-type': 'text/event-stream; charset=utf-8', 'cache-control': 'no-cache' });
      sendDelta({ role: 'assistant', content: '' });
    }
    const choice = { index: 0, delta, logprobs: null, finish_reason: finishReason };
    send({ ...chunk([choice]), ...(includeUsage && { usage: null }), ...extras });
  };
  return {
    text: (piece: string) => sendDelta({ content: piece }),
    call: (call: ToolCallNotification, index: number) => sendDelta({ tool_calls: [{ index, ...toApiCall(call) }] }),
    backpressure: () => buffer.drained(),
    end(end: CompletionEnd): void {
      sendDelta({}, end.finishReason, toExtras(end));
      if (includeUsage) send({ ...chunk([]), usage: toUsage(end) });
      response.end('data: [DONE]\n\n');
    },
    /** Ends a stream that has begun with an error. */
    fail(error: ApiError): void {
      send(error.body);
      response.end();
    },
  };
}
