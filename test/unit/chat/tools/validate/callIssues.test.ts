import { describe, expect, it } from 'vitest';
import { coerceArguments } from '../../../../../src/chat/tools/validate/coerceArguments.ts';
import { validateCall } from '../../../../../src/chat/tools/validate/callIssues.ts';
import type { Tool } from '../../../../../src/chat/tool.ts';
import { createTool, mentionsOf, parseArguments } from '../../../../helpers/toolCalls.ts';

const issuesOf = (tool: Tool | undefined, args: object | string, messages: readonly string[] = []): string[] =>
  validateCall(
    'f',
    tool ? coerceArguments(parseArguments(args), tool) : parseArguments(args),
    tool,
    mentionsOf(messages),
  ).map(({ code, param }) => `${code} ${param}`.trim());

describe('the validation of a call', () => {
  const tool = createTool({
    parameters: [
      { name: 'text', type: 'string' },
      { name: 'count', type: 'integer', required: false },
      { name: 'ratio', type: 'number', required: false },
      { name: 'on', type: 'boolean', required: false },
      { name: 'mode', type: 'string', enum: ['a', 'b'], required: false },
      { name: 'level', type: 'integer', enum: [1, 2], required: false },
      { name: 'list', type: 'array', items: { type: 'integer' }, required: false },
      { name: 'where', type: 'object', required: false },
    ],
  });
  const nested = createTool({
    parameters: {
      type: 'object',
      properties: {
        to: {
          type: 'object',
          properties: { city: { type: 'string' }, zip: { type: ['string', 'null'] } },
          required: ['city'],
        },
      },
      required: ['to'],
    },
  });

  it.each<[string, Tool | undefined, object | string, string[]]>([
    [
      'finds nothing in a valid call',
      tool,
      { text: 'x', count: 3, ratio: 1.5, on: true, mode: 'a', level: 2, list: [1, 2], where: {} },
      [],
    ],
    ['finds an unknown tool', undefined, {}, ['unknown_tool']],
    ['finds a missing parameter', tool, {}, ['missing_param text']],
    ['finds an unexpected parameter', tool, { text: 'x', more: 1 }, ['unexpected_param more']],
    ['finds a word for a number', tool, { text: 'x', count: 'three' }, ['wrong_type count']],
    ['accepts a number for a string', tool, { text: 5 }, []],
    ['finds a fraction for an integer', tool, { text: 'x', count: 2.5 }, ['wrong_type count']],
    ['accepts an integer with decimals', tool, '{"text": "x", "count": 2.0}', []],
    ['accepts numbers and booleans as strings', tool, { text: 'x', count: '3', ratio: '1.5', on: 'true' }, []],
    ['finds null for a string', tool, { text: null }, ['wrong_type text']],
    [
      'finds a value outside of an enum',
      tool,
      { text: 'x', mode: 'c', level: 3 },
      ['not_in_enum mode', 'not_in_enum level'],
    ],
    ['finds an invalid item', tool, { text: 'x', list: [1, 'x', 2.5] }, ['wrong_type list[1]', 'wrong_type list[2]']],
    ['finds a list for an object', tool, { text: 'x', where: [1] }, ['wrong_type where']],
    ['finds a missing nested parameter', nested, { to: { zip: null } }, ['missing_param to.city']],
    [
      'finds an unexpected nested parameter',
      nested,
      { to: { city: 'x', zip: 5, street: 'y' } },
      ['unexpected_param to.street'],
    ],
    [
      'accepts a required parameter that has no schema',
      createTool({ parameters: { type: 'object', properties: {}, required: ['text', 'more'] } }),
      { text: 'x', other: 1 },
      ['missing_param more', 'unexpected_param other'],
    ],
    [
      'finds keys that every object has',
      tool,
      '{"text": "x", "constructor": 1, "__proto__": 2}',
      ['unexpected_param constructor', 'unexpected_param __proto__'],
    ],
  ])('%s', (_, checked, args, issues) => {
    expect(issuesOf(checked, args)).toEqual(issues);
  });
});
