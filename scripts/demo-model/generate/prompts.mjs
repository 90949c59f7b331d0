// Training prompts in the words of the server: its formats write the tools, its layout the messages, so that the text
// that the model learns from is the text that it is asked with.
import { toToolBlock, insertTools } from '../../../dist/dialog.js';
import { probeChatTemplate } from '../../../dist/engine/llama/prompt/chatTemplate.js';
import { formats } from '../../../dist/tools/formats/index.js';
import { readTool } from '../../../dist/tools/tool.js';
import { stringifyJson } from '../../../dist/tools/json/value.js';

/** What ends a message; the model writes it when it has said everything. */
export const end = '<|im_end|>';

/** The chat template of the model, which has no place for tools: the formats' own wording is used. */
export const chatTemplate =
  "{% for message in messages %}{{ '<|im_start|>' + message['role'] + '\\n' + message['content'] + '<|im_end|>\\n' }}" +
  "{% endfor %}{% if add_generation_prompt %}{{ '<|im_start|>assistant\\n' }}{% endif %}";

const layout = probeChatTemplate(chatTemplate, { bos: '<|endoftext|>', eos: end });

/** The names of the formats. */
export const formatNames = [...formats.keys()];

/** The declarations of tools as the server puts them into a prompt. @throws Error when one is refused */
export function blockFor(declarations, formatName) {
  const tools = declarations.map((declaration) => {
    const reading = readTool(declaration);
    if (!reading.ok) throw new Error(JSON.stringify(reading.errors));
    return reading.value;
  });
  return toToolBlock(tools, formats.get(formatName));
}

/** The text of a prompt that awaits an answer. */
export const promptText = (messages, tools) => layout.render(insertTools({ messages, ...(tools && { tools }) }));

/** Calls as a model of the format writes them. */
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
    default:
      throw new Error(`nobody has said how calls are written in ${formatName}`);
  }
}

/** The result of a call as the family of the format is shown it. */
export function resultMessage(formatName, result) {
  const text = stringifyJson(result);
  switch (formatName) {
    case 'chatml':
      return { role: 'user', text: `<tool_response>\n${text}\n</tool_response>` };
    case 'mistral':
      return { role: 'tool', text: `[TOOL_RESULTS] ${text} [/TOOL_RESULTS]` };
    case 'llama3':
      return { role: 'ipython', text };
    default:
      return { role: 'tool', text };
  }
}
