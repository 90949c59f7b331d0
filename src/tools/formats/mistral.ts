import { detect } from '../detect/detect.ts';
import { callGrammar } from './callGrammar.ts';
import { all, many, text, type ManyRule, type Rule } from '../grammar/rule.ts';
import type { ToolCallFormat } from '../tool.ts';
import { functionJson } from './functionJson.ts';

const keys = { name: 'name', arguments: 'arguments' } as const;

/** Tool-call format of Mistral 7B v0.3 and Nemo: a list of calls after the control token `[TOOL_CALLS]`. */
export const mistral: ToolCallFormat = {
  name: 'mistral',
  place: 'last-user',
  render: (tools) => `[AVAILABLE_TOOLS] [${tools.map(functionJson).join(', ')}][/AVAILABLE_TOOLS]\n\n`,
  detect: (text) => detect(text, keys),
  grammar: (tools, choice) => callGrammar(tools, choice, { keys, tag: '[TOOL_CALLS]', wrap: inList }),
};

const inList = (call: Rule, limits: Pick<ManyRule, 'min' | 'max'>): Rule =>
  all(text(' ['), many(call, { ...limits, separator: ', ' }), text(']'));
