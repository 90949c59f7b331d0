import { detect } from '../reply/detect/detect.ts';
import { callGrammar } from './callGrammar.ts';
import { type ToolCallFormat, resultContent } from '../tool.ts';
import { callJson, functionJson } from './toolText.ts';

const keys = { name: 'name', arguments: 'parameters' } as const;

/** Tool-call format of Llama 3.1 and 3.2: bare JSON with "name" and "parameters". */
export const llama3: ToolCallFormat = {
  name: 'llama3',
  place: 'first-user',
  render: (
    tools,
  ) => `Given the following functions, please respond with a JSON for a function call with its proper arguments that best answers the given prompt.

Respond in the format {"name": function name, "parameters": dictionary of argument name and its value}.Do not use variables.

${tools.map((tool) => `${functionJson(tool)}\n\n`).join('')}`,
  renderCalls: (calls) => calls.map((call) => callJson(call, keys)).join('; '),
  renderResult: resultContent,
  detect: (text, options) => detect(text, keys, options),
  grammar: (tools, choice) => callGrammar(tools, choice, { keys }),
};
