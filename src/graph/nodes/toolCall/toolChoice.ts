import { InvalidParams } from '../../compile/node.ts';
import { didYouMean } from '../../../base/didYouMean.ts';
import type { ToolChoice } from '../../../chat/grammar/grammar.ts';
import type { Tool } from '../../../chat/tool.ts';

const kinds = ['auto', 'required', 'none'] as const;

/** Parameters that choose the calls a model may make (OpenAI's `tool_choice` and `strict`). */
export const toolChoiceParams = {
  tool_choice: {
    type: 'string',
    default: 'auto',
    live: true,
    description:
      'auto: the model decides; required: it has to call a tool; none: it is offered no tool; or the name of the tool that it has to call.',
  },
  strict: {
    type: 'boolean',
    default: false,
    live: true,
    description: 'Constrained decoding: calls always match the declared tools and parameters.',
  },
} as const;

/** Reads `tool_choice`; undefined: `none`. @throws InvalidParams for a tool that does not exist. */
export function readToolChoice(value: string, tools: ReadonlyMap<string, Tool>): ToolChoice | undefined {
  if (value === 'none') return undefined;
  if (value === 'auto' || value === 'required') return { kind: value };
  if (tools.has(value)) return { kind: 'tool', name: value };
  const hint = didYouMean(value, [...kinds, ...tools.keys()]);
  const message = `must be ${kinds.join(', ')} or the name of one of the tools, not "${value}"${hint}`;
  throw new InvalidParams([{ pointer: '/tool_choice', message }]);
}
