import { detect } from '../detect/detect.ts';
import { callGrammar } from './callGrammar.ts';
import type { ArgumentsSchema, Tool, ToolCallFormat } from '../tool.ts';

const keys = { name: 'tool', arguments: 'args' } as const;

/** Tool-call format for models without tool training: one line per tool, bare JSON with "tool" and "args". */
export const generic: ToolCallFormat = {
  name: 'generic',
  place: 'system',
  render: (tools) => `You can call tools. To call one, reply with only {"tool": "<name>", "args": {...}}.

Tools:
${tools.map(signature).join('\n')}`,
  detect: (text, options) => detect(text, keys, options),
  grammar: (tools, choice) => callGrammar(tools, choice, { keys }),
};

const signature = ({ name, description, parameters }: Tool): string =>
  `- ${name}(${describeParams(parameters).join(', ')}): ${description}`;

function describeParams({ properties = {}, required = [] }: ArgumentsSchema): string[] {
  return Object.entries(properties).map(([name, { type, enum: values }]) => {
    const typeText = Array.isArray(values) ? values.join('|') : String(type ?? 'any');
    return `${name}${required.includes(name) ? '' : '?'}: ${typeText}`;
  });
}
