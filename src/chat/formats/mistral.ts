import { detect } from '../reply/detect/detect.ts';
import { callGrammar } from './callGrammar.ts';
import { all, char, many, optional, text, type ManyRule, type Rule } from '../grammar/rule.ts';
import { type ToolCallFormat, resultContent } from '../tool.ts';
import { stringifyJson } from '../json/value.ts';
import { callJson, functionJson } from './toolText.ts';

const keys = { name: 'name', arguments: 'arguments' } as const;

/** Tool-call format of Mistral 7B v0.3 and Nemo: a list of calls after the control token `[TOOL_CALLS]`. */
export const mistral: ToolCallFormat = {
  name: 'mistral',
  place: 'last-user',
  render: (tools) => `[AVAILABLE_TOOLS] [${tools.map(functionJson).join(', ')}][/AVAILABLE_TOOLS]\n\n`,
  renderCalls: (calls) => `[TOOL_CALLS] [${calls.map((call) => callJson(call, keys, [['id', call.id]])).join(', ')}]`,
  renderResult: (call) =>
    `[TOOL_RESULTS] ${stringifyJson({ content: resultContent(call), call_id: call.id })}[/TOOL_RESULTS]`,
  detect: (text, options) => detect(text, keys, options),
  grammar: (tools, choice) => callGrammar(tools, choice, { keys, tag: '[TOOL_CALLS]', wrap: inList, id: optionalId }),
};

// Mistral 7B v0.3 writes a space before the list, Nemo does not.
const inList = (call: Rule, limits: Pick<ManyRule, 'min' | 'max'>): Rule =>
  all(optional(text(' ')), text('['), many(call, { ...limits, separator: ', ' }), text(']'));

// The families' templates write the id of a call, the models leave it out.
const optionalId = optional(all(text(', "id": "'), many(char('A-Z', 'a-z', '0-9'), { min: 9, max: 9 }), text('"')));
