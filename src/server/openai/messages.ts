import { isObject } from '../../base/jsonTypes.ts';
import { invalidField } from './apiError.ts';
import type { Message } from '../../chat/dialog.ts';
import { parseJsonObject } from '../../chat/json/lenientParser.ts';
import type { JsonObject } from '../../chat/json/value.ts';
import type { AnsweredCall } from '../../chat/tool.ts';
import type { RequestMessage } from './requestSchema.ts';

/** A part of a conversation after a message of the user. */
export type ConversationPart =
  | { readonly kind: 'text'; readonly message: Message }
  | { readonly kind: 'calls'; readonly calls: readonly AnsweredCall[]; readonly text: string };

/** A message of the user and what followed it. */
export interface ConversationTurn {
  /** undefined: no message of the user is before it. */
  readonly user: string | undefined;
  readonly parts: readonly ConversationPart[];
}

/** The messages of a request as turns; the last one has to be answered. */
export interface Conversation {
  /** The messages of role system and developer before all others; "" = none. */
  readonly system: string;
  readonly earlier: readonly ConversationTurn[];
  readonly last: ConversationTurn & { readonly user: string };
}

/** A message with its text, and its place in the request for errors. */
interface PlacedMessage extends RequestMessage {
  readonly text: string;
  readonly place: string;
}

/** Reads the messages of a request. @throws ApiError with status 400 that names the message */
export function readMessages(given: readonly RequestMessage[], maxBytes: number): Conversation {
  const messages = given.map((message, index): PlacedMessage => {
    const { role, content, name } = message;
    const place = `messages[${index}]`;
    const text = readContent(content, `${place}.content`, maxBytes);
    // A model knows roles and no names: who speaks is a part of the text.
    return { ...message, place, text: name === undefined || role === 'tool' ? text : `${name}: ${text}` };
  });
  const last = messages.at(-1);
  if (last?.role === 'assistant')
    throw invalidField(last.place, 'is the last one and of role assistant; end with user or tool');
  const firstOther = messages.findIndex(({ role }) => role !== 'system' && role !== 'developer');
  const begin = firstOther < 0 ? messages.length : firstOther;
  const system = messages.slice(0, begin);
  system.forEach(assertFields);
  const turns: { user: string | undefined; parts: ConversationPart[] }[] = [];
  const add = (part: ConversationPart): void => {
    if (turns.length === 0) turns.push({ user: undefined, parts: [] });
    turns.at(-1)?.parts.push(part);
  };
  const rest = messages.slice(begin);
  for (let message = rest.shift(); message; message = rest.shift()) {
    const { role, text, place, tool_calls: calls } = message;
    assertFields(message);
    if (role === 'user') turns.push({ user: text, parts: [] });
    else if (role === 'assistant' && calls.length > 0) {
      const results = readResults(message, rest.splice(0, calls.length));
      const answered = calls.map((call, at) => answer(call, results, `${place}.tool_calls[${at}]`));
      add({ kind: 'calls', text, calls: answered });
    } else if (role === 'tool') throw invalidField(place, 'answers no call of the message before it');
    else add({ kind: 'text', message: { role: role === 'assistant' ? role : 'system', text } });
  }
  // Many templates need a message of the user: without one it is empty.
  const { user = '', parts } = turns.at(-1) ?? { parts: [] };
  const texts = system.map(({ text }) => text).filter((text) => text !== '');
  return { system: texts.join('\n\n'), earlier: turns.slice(0, -1), last: { user, parts } };
}

function assertFields({ role, tool_calls: calls, tool_call_id: id, content, place }: PlacedMessage): void {
  if (calls.length > 0 && role !== 'assistant') throw invalidField(`${place}.tool_calls`, `is not for role ${role}`);
  if (id !== undefined && role !== 'tool') throw invalidField(`${place}.tool_call_id`, `is not for role ${role}`);
  if (content === undefined && role !== 'assistant') throw invalidField(`${place}.content`, 'is missing');
}

/** The results of the calls of a message, by id: those of the messages of role tool that follow it, one for each call. */
function readResults(caller: PlacedMessage, following: readonly PlacedMessage[]): ReadonlyMap<string, string> {
  const byId = new Map(caller.tool_calls.toReversed().map((call) => [call.id, call]));
  const results = new Map<string, string>();
  for (const message of following) {
    const { role, place, text, name: given, tool_call_id: id = '' } = message;
    if (role !== 'tool') break;
    assertFields(message);
    const call = byId.get(id);
    if (!call) throw invalidField(`${place}.tool_call_id`, `is no call of ${caller.place}: "${id}"`);
    if (results.has(id)) throw invalidField(`${place}.tool_call_id`, `has a second result for "${id}"`);
    const { name } = call.function;
    if (given !== undefined && given !== name)
      throw invalidField(`${place}.name`, `must be the function of the call, ${JSON.stringify(name)}`);
    results.set(id, text);
  }
  return results;
}

function answer(
  { id, function: { name, arguments: text } }: RequestMessage['tool_calls'][number],
  results: ReadonlyMap<string, string>,
  place: string,
): AnsweredCall {
  const content = results.get(id);
  if (content === undefined)
    throw invalidField(place, `has no result: send a message of role tool with the tool_call_id "${id}" after it`);
  return {
    id,
    name,
    arguments: readArguments(text, `${place}.function.arguments`),
    ok: true,
    content,
    lifespan: 'TURN',
  };
}

function readArguments(text: string, place: string): JsonObject {
  const args = parseJsonObject(text.trim() === '' ? '{}' : text);
  if (args) return args;
  throw invalidField(place, 'must be the JSON text of an object');
}

/** The text of a message: a string, or joined text parts. @throws ApiError for other parts, or too much text. */
function readContent(content: unknown, place: string, maxBytes: number): string {
  const text = Array.isArray(content)
    ? content.map((part, index) => readPart(part, `${place}[${index}]`)).join('')
    : content;
  if (text === undefined) return '';
  if (typeof text !== 'string') throw invalidField(place, 'must be a string or a list of text parts');
  const bytes = Buffer.byteLength(text);
  if (bytes > maxBytes)
    throw invalidField(place, `has ${bytes} bytes, and ${maxBytes} are allowed; send less`, 'string_above_max_length');
  return text;
}

function readPart(part: unknown, place: string): string {
  const { type, text } = isObject(part) ? part : {};
  if (type === 'text' && typeof text === 'string') return text;
  if (typeof type === 'string' && type !== 'text')
    throw invalidField(
      place,
      `is of type ${JSON.stringify(type)}, and only "text" is supported`,
      'unsupported_content',
    );
  throw invalidField(place, 'must be {"type": "text", "text": "..."}');
}
