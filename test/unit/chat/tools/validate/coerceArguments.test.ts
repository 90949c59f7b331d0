import { describe, expect, it } from 'vitest';
import { coerceArguments } from '../../../../../src/chat/tools/validate/coerceArguments.ts';
import { validateCall } from '../../../../../src/chat/tools/validate/callIssues.ts';
import type { Tool } from '../../../../../src/chat/tool.ts';
import { stringifyJson } from '../../../../../src/chat/json/value.ts';
import { createTool, mentionsOf, parseArguments } from '../../../../helpers/toolCalls.ts';

const issuesOf = (tool: Tool | undefined, args: object | string, messages: readonly string[] = []): string[] =>
  validateCall(
    'f',
    tool ? coerceArguments(parseArguments(args), tool) : parseArguments(args),
    tool,
    mentionsOf(messages),
  ).map(({ code, param }) => `${code} ${param}`.trim());

describe('a value with several allowed types', () => {
  const tool = createTool({
    parameters: {
      type: 'object',
      properties: { size: { type: ['string', 'integer'], enum: ['auto', 1] }, level: { type: ['integer', 'string'] } },
    },
  });

  it.each(['{"size": 1, "level": "5"}', '{"size": "auto", "level": 5}'])('is not coerced: %s', (text) => {
    expect(stringifyJson(coerceArguments(parseArguments(text), tool))).toBe(text);
    expect(issuesOf(tool, text)).toEqual([]);
  });
});
