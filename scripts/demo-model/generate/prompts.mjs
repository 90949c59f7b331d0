// Training prompts, rendered by the server's own tool-call formats and chat template, so that the training text is exactly
// what the server sends to the model.
/** @import { Message, ToolBlock } from '../../../src/chat/dialog.ts' */
import { toToolBlock, toTextMessages } from '../../../dist/chat/dialog.js';
import { createExchange } from '../../../dist/graph/nodes/toolCall/exchange.js';
import { probeChatTemplate } from '../../../dist/chat/template/chatTemplate.js';
import { toTextMessage } from '../../../dist/chat/template/templateMessages.js';
import { formats } from '../../../dist/chat/formats/index.js';
import { readTool } from '../../../dist/chat/tools/declaration/readTool.js';
import { stringifyJson } from '../../../dist/chat/json/value.js';

/** The end-of-turn token. */
export const end = '<|im_end|>';

/** The chat template of the model. It does not render tools: the formats' own wording is used. */
export const chatTemplate =
  "{% for message in messages %}{{ '<|im_start|>' + message['role'] + '\\n' + message['content'] + '<|im_end|>\\n' }}" +
  "{% endfor %}{% if add_generation_prompt %}{{ '<|im_start|>assistant\\n' }}{% endif %}";

const layout = probeChatTemplate(chatTemplate, { bos: '<|endoftext|>', eos: end });

/**
 * The names of the tool-call formats.
 * @type {readonly string[]}
 */
export const formatNames = [...formats.keys()];

/** A random format; `react`, for models without tool training, half as often as each of the others. */
export const randomFormat = (rng) => rng.pick([...formatNames, ...formatNames.filter((name) => name !== 'react')]);

/**
 * The tool declarations as the server renders them into a prompt.
 * @param {readonly object[]} declarations
 * @param {string} formatName
 * @returns {ToolBlock}
 * @throws {Error} For an invalid declaration.
 */
export function blockFor(declarations, formatName) {
  const tools = declarations.map((declaration) => {
    const reading = readTool(declaration);
    if (!reading.ok) throw new Error(JSON.stringify(reading.errors));
    return reading.value;
  });
  return toToolBlock(tools, formats.get(formatName));
}

/**
 * The text of a prompt, up to the place where the model's answer begins.
 * @param {readonly Message[]} messages
 * @param {ToolBlock} [tools]
 * @returns {string}
 */
export const promptText = (messages, tools) =>
  layout.render({ messages: toTextMessages({ messages, ...(tools && { tools }) }).map(toTextMessage) });

/**
 * Calls as a model of the format writes them.
 * @param {string} formatName
 * @param {readonly { name: string, arguments: object }[]} calls
 * @returns {string}
 */
export function callText(formatName, calls) {
  const json = ({ name, arguments: given }, [nameKey, argumentsKey]) =>
    stringifyJson({ [nameKey]: name, [argumentsKey]: given });
  const all = (keys) => calls.map((call) => json(call, keys));
  switch (formatName) {
    case 'chatml':
      return all(['name', 'arguments'])
        .map((call) => `<tool_call>\n${call}\n</tool_call>`)
        .join('\n');
    case 'mistral':
      return `[TOOL_CALLS] [${all(['name', 'arguments']).join(', ')}]`;
    case 'llama3':
      return all(['name', 'parameters']).join('\n');
    case 'generic':
      return all(['tool', 'args']).join('\n');
    case 'react':
      return calls.map((call) => `Action: ${call.name}\nAction Input: ${stringifyJson(call.arguments)}`).join('\n');
    default:
      throw new Error(`callText does not know the format "${formatName}"`);
  }
}

/** A text without a call, as a model of the format writes it after a prompt with tools. */
export const answerText = (formatName, text) => (formatName === 'react' ? `Final Answer: ${text}` : text);

/**
 * Calls and their results as the messages after the user's.
 * @param {string} formatName
 * @param {readonly { call: { name: string, arguments: object }, result: { ok: boolean, content: string }, id: string }[]} answered
 * @returns {readonly Message[]}
 */
export function exchangeMessages(formatName, answered) {
  const calls = answered.map(({ call, result: { ok, content }, id }) => ({
    id,
    name: call.name,
    arguments: new Map(Object.entries(call.arguments)),
    ok,
    content,
    lifespan: 'TURN',
  }));
  return createExchange(calls, '', formats.get(formatName)).messages;
}
