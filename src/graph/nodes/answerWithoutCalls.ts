import type { Turn } from '../compile/turn.ts';
import { answerGrammar } from '../../chat/grammar/jsonSchema/fromSchema.ts';
import type { Rule } from '../../chat/grammar/rule.ts';
import { markupOf } from '../../chat/dialect/nativeFormat.ts';
import { CallMarkupFilter } from '../../chat/reply/malformed/streamableText.ts';
import { echoReason, mayBeEcho } from './argumentsEcho.ts';
import type { InferenceRunner, PromptRequest } from './inference.ts';

type OnText = ((piece: string) => void) | undefined;

/**
 * Generates JSON, or a text, without reading calls. JSON that is cut off is a warning of the turn.
 * @param rule what an answer in JSON matches; undefined: the answer is a text.
 * @param onText called with each piece of the answer.
 */
export async function completeAnswer(
  turn: Turn,
  inference: InferenceRunner,
  request: PromptRequest,
  rule: Rule | undefined,
  onText: OnText,
): Promise<string> {
  if (!rule) return answerWithoutCalls(turn, inference, request, onText);
  const { text, finishReason } = await inference.complete(turn, request, {
    grammar: answerGrammar(rule),
    ...(onText && { onText }),
  });
  if (finishReason === 'length')
    turn.warn(`${inference.nodeName} was cut off inside its JSON; raise sampling.max_tokens`);
  return text;
}

/**
 * Generates a text in a node that reads no calls. Markup of a call is no part of the answer: it is sent to the client
 * (NodeEvent call_unread), and the turn has a warning. So it is with an answer that repeats the arguments of a call.
 */
async function answerWithoutCalls(
  turn: Turn,
  inference: InferenceRunner,
  request: PromptRequest,
  onText: OnText,
): Promise<string> {
  const { nodeName, lease } = inference;
  const markup = markupOf(lease.model.toolDialect);
  const filter = new CallMarkupFilter(markup);
  let [answer, held] = ['', ''];
  const pass = (text: string, isLast = false): void => {
    held += text;
    if (held === '' || (answer === '' && !isLast && mayBeEcho(held, turn))) return;
    answer += held;
    onText?.(held);
    held = '';
  };
  const completion = await inference.complete(turn, request, {
    // Without the control tokens, what they open would look like an answer.
    controlTokens: [...markup.opens, ...markup.closes, ...markup.inner],
    ...(onText && { onText: (piece) => pass(filter.push(piece)) }),
  });
  if (!onText) pass(filter.push(completion.text));
  pass(filter.flush());
  const echo = echoReason(held, turn);
  if (echo === undefined) pass('', true);
  else {
    turn.emitEvent('call_unread', { text: held, reason: echo }, { always: true });
    turn.warn(`${nodeName} wrote no answer: ${echo}; choose another model, or say in system_prompt to answer in words`);
  }
  if (!onText && filter.unread.length > 0) answer = answer.trimEnd();
  const unread = [...completion.toolMessages, ...filter.unread.map((call) => call.text)];
  for (const text of unread)
    turn.emitEvent('call_unread', { text, reason: 'this node reads no calls' }, { always: true });
  if (unread.length > 0) {
    const fix = 'put a ToolCall node in its place, or say in system_prompt not to call tools';
    turn.warn(`${nodeName} wrote a tool call, and this node reads none; ${fix}`);
  }
  return answer;
}
