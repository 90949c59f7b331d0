import { describeGraphPointer } from '../../compile/document.ts';
import { InvalidParams, type NodeContext } from '../../compile/node.ts';
import { escapePointerToken } from '../../../base/jsonPointer.ts';
import type { SchemaError } from '../../../protocol/schema.ts';
import { readTool } from '../../../chat/tools/declaration/readTool.ts';
import type { Tool } from '../../../chat/tool.ts';
import type { ToolCallParams } from './toolCallParams.ts';

/** Reads the tools of a node, by name; warnings are those of the agent. @throws InvalidParams with the errors of all tools. */
export function readTools(
  { tools: declarations, strict }: Pick<ToolCallParams, 'tools' | 'strict'>,
  { limits, nodeName, warn }: NodeContext,
): ReadonlyMap<string, Tool> {
  if (declarations.length > limits.tools) {
    const message = `has ${declarations.length} entries, and ${limits.tools} are allowed`;
    throw new InvalidParams([{ pointer: '/tools', message, code: 'LIMIT_EXCEEDED' }]);
  }
  const tools = new Map<string, Tool>();
  const errors: SchemaError[] = [];
  for (const [index, declaration] of declarations.entries()) {
    const pointer = `/tools/${index}`;
    const place = `/nodes${escapePointerToken(nodeName)}/params${pointer}`;
    const reading = readTool(declaration, (warning) => {
      // With a strict node this tool is strict, as it asks for.
      if (strict && warning.pointer === '/function/strict') return;
      warn(`${describeGraphPointer(place + warning.pointer)} ${warning.message}`);
    });
    if (!reading.ok) {
      errors.push(...reading.errors.map((error) => ({ ...error, pointer: pointer + error.pointer })));
      continue;
    }
    const { name, origin } = reading.value;
    if (tools.has(name))
      errors.push({
        pointer: `${pointer}${origin?.pointer ?? ''}/name`,
        message: `is declared twice: "${name}"`,
      });
    tools.set(name, reading.value);
  }
  if (errors.length > 0) throw new InvalidParams(errors);
  return tools;
}
