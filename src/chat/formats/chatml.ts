import { detect } from '../reply/detect/detect.ts';
import { callGrammar } from './callGrammar.ts';
import { all, tag, text, type Rule } from '../grammar/rule.ts';
import { type ToolCallFormat, resultContent } from '../tool.ts';
import { callJson, functionJson } from './toolText.ts';

const keys = { name: 'name', arguments: 'arguments' } as const;

/** Tool-call format of Qwen2.5, Qwen3, Hermes and others (Hermes format): calls in `<tool_call>` tags. */
export const chatml: ToolCallFormat = {
  name: 'chatml',
  place: 'system',
  render: (tools) => `# Tools

You may call one or more functions to assist with the user query.

You are provided with function signatures within <tools></tools> XML tags:
<tools>
${tools.map(functionJson).join('\n')}
</tools>

For each function call, return a json object with function name and arguments within <tool_call></tool_call> XML tags:
<tool_call>
{"name": <function-name>, "arguments": <args-json-object>}
</tool_call>`,
  renderCalls: (calls) => calls.map((call) => `<tool_call>\n${callJson(call, keys)}\n</tool_call>`).join('\n'),
  renderResult: (call) => `<tool_response>\n${resultContent(call)}\n</tool_response>`,
  detect: (text, options) => detect(text, keys, options),
  grammar: (tools, choice) => callGrammar(tools, choice, { keys, tag: '<tool_call>', wrap: onOwnLine }),
};

const onOwnLine = (call: Rule): Rule => all(text('\n'), call, text('\n'), tag('</tool_call>'));
