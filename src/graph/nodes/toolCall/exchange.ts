import type { Message } from '../../../chat/dialog.ts';
import type { Exchange } from '../../compile/turn.ts';
import { resultContent, resultLine, type AnsweredCall } from '../../../chat/calls.ts';
import { callJson } from '../../../chat/formats/functionJson.ts';
import { stringifyJson } from '../../../chat/json/value.ts';
import type { ToolCallFormat } from '../../../chat/tool.ts';

// Keys of a call where the format has no text of its own for earlier calls.
const plainKeys = { name: 'tool', arguments: 'args' } as const;

/**
 * Answered calls as messages of later prompts: for a chat template as calls and results, for any other in the wording of
 * the format.
 * @param text what the model wrote in addition to the calls.
 */
export function createExchange(calls: readonly AnsweredCall[], text: string, format: ToolCallFormat): Exchange {
  const written = format.renderCalls?.(calls) ?? calls.map((call) => callJson(call, plainKeys)).join('\n');
  const callMessage: Message = {
    role: 'assistant',
    text: text === '' ? written : `${text}\n${written}`,
    toolExchange: {
      kind: 'calls',
      text,
      calls: calls.map(({ id, name, arguments: args }) => ({ id, name, arguments: toPlainObject(args) })),
    },
  };
  const toResultMessage = (call: AnsweredCall): Message => ({
    role: 'user',
    text: format.renderResult?.(call) ?? resultLine(call),
    toolExchange: { kind: 'result', callId: call.id, name: call.name, content: resultContent(call) },
  });
  return { calls, messages: [callMessage, ...calls.map(toResultMessage)] };
}

// Prompts are plain data: they cross to the engine process.
const toPlainObject = (args: AnsweredCall['arguments']): object => JSON.parse(stringifyJson(args)) as object;
