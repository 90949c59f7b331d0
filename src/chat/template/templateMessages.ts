import type { TemplateMessage } from './templateInput.ts';
import type { Message, ToolExchange } from '../dialog.ts';
import type { WrittenCall } from '../tool.ts';
import { toJsonObject } from '../json/lenientParser.ts';
import { stringifyJson } from '../json/value.ts';
import type { ToolDialect } from '../dialect/layout.ts';
import { writeCalls } from '../dialect/nativeFormat.ts';

type HistoryDialect = Pick<ToolDialect, 'convention' | 'layout'>;

/** A message of a prompt as text: role and content. Calls and results are in our own wording. */
export const toTextMessage = ({ role, text }: Message): TemplateMessage => ({ role, content: text });

/**
 * The messages of a prompt in the form that a chat template takes.
 *
 * | the template                    | calls are given                                      | results are given      |
 * | ------------------------------- | ---------------------------------------------------- | ---------------------- |
 * | writes calls                    | as `tool_calls`, in the convention of the template   | as role `tool`         |
 * | leaves calls out, known layout  | as text, in the layout of the family                 | as role `tool`         |
 *
 * A template that writes one call of a message gets a message for each call, followed by its result. What a template does
 * not write at all is text in the prompt input already.
 */
export function toTemplateMessages(messages: readonly Message[], dialect: HistoryDialect): readonly TemplateMessage[] {
  const idOf = callIds(dialect);
  const given = messages.map((message): TemplateMessage => {
    const { toolExchange } = message;
    if (toolExchange?.kind === 'calls') return callsMessage(message, toolExchange, idOf, dialect);
    if (toolExchange?.kind !== 'result') return toTextMessage(message);
    const { name, callId, content } = toolExchange;
    return { role: 'tool', name, tool_call_id: idOf(callId, name), content };
  });
  const { convention } = dialect;
  return !convention || convention.severalCalls ? given : oneCallPerMessage(given, convention.content);
}

type Calls = Extract<ToolExchange, { kind: 'calls' }>;

function callsMessage(
  message: Message,
  { text, calls }: Calls,
  idOf: ReturnType<typeof callIds>,
  { convention, layout }: HistoryDialect,
): TemplateMessage {
  if (!convention) {
    if (!layout) return toTextMessage(message);
    return { role: 'assistant', content: text + writeCalls(calls.map(toWrittenCall), layout) };
  }
  return {
    role: 'assistant',
    content: text === '' || !convention.textWithCalls ? convention.content : text,
    tool_calls: calls.map(({ id, name, arguments: args }) => ({
      id: idOf(id, name),
      type: 'function',
      function: { name, arguments: convention.arguments === 'object' ? args : stringifyJson(args) },
    })),
  };
}

/** A call of a message, to be written in a layout. */
export const toWrittenCall = ({ arguments: args, ...call }: Calls['calls'][number]): WrittenCall => ({
  ...call,
  arguments: toJsonObject(args),
});

/** The ids of the calls of one prompt. Some templates write the id in place of the name: `functions.NAME:NUMBER`. */
function callIds({ convention }: HistoryDialect): (id: string, name: string) => string {
  if (convention?.ids !== 'functions') return (id) => id;
  const numbered = new Map<string, string>();
  return (id, name) => {
    const known = numbered.get(id) ?? `functions.${name}:${numbered.size}`;
    numbered.set(id, known);
    return known;
  };
}

/** One call in each message, followed by its result. @param content of a message that has only a call. */
function oneCallPerMessage(
  messages: readonly TemplateMessage[],
  content: TemplateMessage['content'],
): readonly TemplateMessage[] {
  // Each message with the results after it.
  const groups: [message: TemplateMessage, ...results: TemplateMessage[]][] = [];
  for (const message of messages) {
    const group = message.role === 'tool' ? groups.at(-1) : undefined;
    if (group) group.push(message);
    else groups.push([message]);
  }
  return groups.flatMap(([message, ...results]) => {
    const { tool_calls: calls = [] } = message;
    if (calls.length < 2) return [message, ...results];
    const split = calls.flatMap((call, position) => {
      const result = results.findIndex(({ tool_call_id: id }) => id === call.id);
      const single = { ...message, ...(position > 0 && { content }), tool_calls: [call] };
      return [single, ...(result < 0 ? [] : results.splice(result, 1))];
    });
    return [...split, ...results];
  });
}
