import { InvalidParams } from '../../compile/node.ts';
import type { JsonObject } from '../../../chat/json/value.ts';
import type { DetectedCall, Tool } from '../../../chat/tool.ts';

const thoughtName = 'thought';

// In characters; `strict` enforces it.
const maxThoughtLength = 200;

const thoughtSchema = {
  type: 'string',
  description: 'Why this tool is called, in one short sentence.',
  maxLength: maxThoughtLength,
} as const;

/** Tools with a first, optional parameter `thought`. @throws InvalidParams for a tool that has one of its own. */
export function withThought(tools: ReadonlyMap<string, Tool>): ReadonlyMap<string, Tool> {
  return new Map(
    [...tools].map(([name, tool]) => {
      const { properties = {} } = tool.parameters;
      if (Object.hasOwn(properties, thoughtName)) {
        const message = `adds a parameter "${thoughtName}", which the tool "${name}" has itself; rename that one, or leave thought out`;
        throw new InvalidParams([{ pointer: '/thought', message }]);
      }
      const parameters = { ...tool.parameters, properties: { [thoughtName]: thoughtSchema, ...properties } };
      return [name, { ...tool, parameters }];
    }),
  );
}

/** A call without its thought, and the thought. */
export function splitThought(call: DetectedCall): {
  readonly call: DetectedCall;
  readonly thought: string | undefined;
} {
  const value = call.arguments.get(thoughtName);
  if (typeof value !== 'string') return { call, thought: call.thought };
  const rest: JsonObject = new Map([...call.arguments].filter(([name]) => name !== thoughtName));
  return { call: { ...call, arguments: rest }, thought: call.thought ?? value };
}
