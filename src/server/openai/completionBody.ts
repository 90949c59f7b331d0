import { randomUUID } from 'node:crypto';
import type { ToolCallNotification } from '../../protocol/frames.gen.ts';
import type { CompletionEnd } from './completion.ts';

/** What all objects of one response have in common. */
export interface CompletionHead {
  readonly id: string;
  readonly created: number;
  readonly model: string;
}

/** The head of a new response. */
export const newHead = (model: string): CompletionHead => ({
  id: `chatcmpl-${randomUUID()}`,
  created: Math.floor(Date.now() / 1000),
  model,
});

/** A call in OpenAI's form: its arguments are the JSON text of typed values. */
export const toApiCall = ({ callId, toolName, typedArgumentsJson }: ToolCallNotification) =>
  ({ id: callId, type: 'function', function: { name: toolName, arguments: typedArgumentsJson } }) as const;

/** The usage of a response; cached tokens are those that were reused from a KV cache. */
export const toUsage = ({ tokens }: CompletionEnd) => ({
  prompt_tokens: tokens.tokensPrompt,
  completion_tokens: tokens.tokensGenerated,
  total_tokens: tokens.tokensPrompt + tokens.tokensGenerated,
  prompt_tokens_details: { cached_tokens: tokens.tokensReused },
});

/** What turngraph adds to a response: the warnings of the turn, if there are any. */
export const toExtras = ({ warnings }: CompletionEnd): object =>
  warnings.length === 0 ? {} : { turngraph: { warnings } };

/** The response without streaming. */
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
