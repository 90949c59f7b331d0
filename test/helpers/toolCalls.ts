import { collectMentions } from '../../src/chat/tools/validate/grounding.ts';
import type { Mentions } from '../../src/chat/tools/validate/callIssues.ts';
import { chatml } from '../../src/chat/formats/chatml.ts';
import type { JsonObject } from '../../src/chat/json/value.ts';
import { readTool } from '../../src/chat/tools/declaration/readTool.ts';
import type { ToolDeclaration } from '../../src/chat/tools/declaration/toolSchema.ts';
import type { Tool } from '../../src/chat/tool.ts';

/** Reads a tool declaration; fields that are not given have a default. @throws Error when it is invalid. */
export function createTool(declaration: Partial<ToolDeclaration>): Tool {
  const reading = readTool({ name: 'f', description: 'd', parameters: [], consequential: false, ...declaration });
  if (!reading.ok) throw new Error(JSON.stringify(reading.errors));
  return reading.value;
}

/** Arguments as they are parsed from the text of a model. */
export function parseArguments(args: object | string): JsonObject {
  const text = typeof args === 'string' ? args : JSON.stringify(args);
  const [call] = chatml.detect(`<tool_call>{"name": "f", "arguments": ${text}}</tool_call>`).calls;
  if (!call) throw new Error(`no call in ${text}`);
  return call.arguments;
}

/** What the values of a call may come from. */
export const mentionsOf = (user: readonly string[], context: readonly string[] = []): Mentions => ({
  user: collectMentions(user),
  context: () => collectMentions(context),
});
