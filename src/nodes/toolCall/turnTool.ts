import type { Turn } from '../../graph/turn.ts';
import { withEnums } from '../../tools/declaration/enumSource.ts';
import { readEnumValues } from '../../tools/declaration/enumValues.ts';
import type { EnumSource, Tool } from '../../tools/tool.ts';

/**
 * A tool with the values that its parameters have in a turn; undefined: a variable with values is missing or wrong, which
 * is a warning of the turn.
 */
export function turnTool(tool: Tool, turn: Turn, nodeName: string): Tool | undefined {
  const { name, enumSources = [] } = tool;
  if (enumSources.length === 0) return tool;
  const values = new Map<EnumSource, readonly unknown[]>();
  for (const source of enumSources) {
    const { variable, path, types } = source;
    const text = Object.hasOwn(turn.variables, variable) ? turn.variables[variable] : undefined;
    const reading = readEnumValues(text, source);
    if (reading.ok) values.set(source, reading.values);
    else {
      const fix = `send it with the message as a JSON list of ${types.map((type) => `${type}s`).join(' or ')}`;
      const reason = `its parameter ${path} takes its values from the variable "${variable}", which ${reading.problem}; ${fix}`;
      turn.warn(`${nodeName} leaves out the tool ${name} in this turn: ${reason}`);
    }
  }
  return values.size === enumSources.length ? withEnums(tool, values) : undefined;
}
