import { describe, expect, it } from 'vitest';
import { toolSignature } from '../../../../src/chat/formats/toolText.ts';
import { stringifyJson } from '../../../../src/chat/json/value.ts';
import type { Tool } from '../../../../src/chat/tool.ts';
import { coerceArguments } from '../../../../src/chat/tools/validate/coerceArguments.ts';
import { validateCall } from '../../../../src/chat/tools/validate/callIssues.ts';
import { createTool, mentionsOf, parseArguments } from '../../../helpers/toolCalls.ts';

const $defs = {
  code: { type: 'string' },
  level: { type: 'integer' },
  size: { enum: ['small', 'large'] },
  list: { type: 'array', items: { $ref: '#/$defs/level' } },
  place: { type: 'object', properties: { zip: { $ref: '#/$defs/code' } }, required: ['zip'] },
  tree: {
    type: 'object',
    properties: { name: { type: 'string' }, below: { type: 'array', items: { $ref: '#/$defs/tree' } } },
    required: ['name'],
  },
  circle: {
    type: 'object',
    properties: { kind: { const: 'circle' }, radius: { type: 'number' } },
    required: ['kind', 'radius'],
  },
  square: {
    type: 'object',
    properties: { kind: { const: 'square' }, side: { type: 'number' } },
    required: ['kind', 'side'],
  },
  'a/b c': { type: 'boolean' },
  endless: { anyOf: [{ $ref: '#/$defs/endless' }, { type: 'string' }] },
};
const ref = (name: string): object => ({ $ref: `#/$defs/${name}` });
const toolOf = (x: object): Tool =>
  createTool({ parameters: { type: 'object', properties: { x }, required: ['x'], $defs } });
const shape = { anyOf: [ref('circle'), ref('square')] };

describe('a schema that refers to others', () => {
  it.each<[string, object, unknown, unknown, readonly string[]]>([
    ['$ref', ref('code'), 42, '42', []],
    ['$ref to an integer', ref('level'), '42', 42, []],
    ['$ref with an escaped name', { $ref: '#/$defs/a~1b%20c' }, 'true', true, []],
    ['$ref of items', ref('list'), ['1', 2], [1, 2], []],
    ['$ref of a member', ref('place'), { zip: 7 }, { zip: '7' }, []],
    ['$ref with a missing member', ref('place'), {}, {}, ['missing_param x.zip']],
    ['$ref with another value', ref('size'), 'huge', 'huge', ['not_in_enum x']],
    [
      '$ref to itself',
      ref('tree'),
      { name: 1, below: [{ below: [] }] },
      { name: '1', below: [{ below: [] }] },
      ['missing_param x.below[0].name'],
    ],
    ['allOf', { allOf: [ref('code'), { description: 'd' }] }, 42, '42', []],
    [
      'allOf of objects',
      { allOf: [ref('place'), { properties: { city: ref('code') }, required: ['city'] }] },
      { zip: 1 },
      { zip: '1' },
      ['missing_param x.city'],
    ],
    ['allOf of types', { allOf: [{ type: ['integer', 'string'] }, { type: 'number' }] }, '5', 5, []],
    ['allOf of values', { allOf: [{ enum: ['a', 'b'] }, { enum: ['b', 'c'] }] }, 'a', 'a', ['not_in_enum x']],
    ['anyOf of a reference and null', { anyOf: [ref('level'), { type: 'null' }] }, '5', 5, []],
    ['anyOf with null', { anyOf: [ref('level'), { type: 'null' }] }, null, null, []],
    ['anyOf of types', { anyOf: [ref('level'), { type: 'boolean' }] }, 'x', 'x', ['wrong_type x']],
    ['anyOf of values', { anyOf: [ref('size'), { const: 'none' }] }, 'none', 'none', []],
    ['anyOf of values with another one', { anyOf: [ref('size'), { const: 'none' }] }, 'all', 'all', ['not_in_enum x']],
    ['anyOf of objects', shape, { kind: 'square', side: '2' }, { kind: 'square', side: 2 }, []],
    ['anyOf of objects with a missing member', shape, { kind: 'square' }, { kind: 'square' }, ['missing_param x.side']],
    ['oneOf in anyOf', { anyOf: [{ oneOf: [ref('level'), { type: 'null' }] }, { type: 'boolean' }] }, '5', 5, []],
    ['anyOf of itself', ref('endless'), 42, '42', []],
    ['nullable', { type: 'string', nullable: true }, null, null, []],
    ['a default of null', { type: 'string', default: null }, null, null, []],
  ])('by %s is looked through', (_, schema, written, coerced, issues) => {
    const tool = toolOf(schema);
    const args = coerceArguments(parseArguments({ x: written }), tool);
    expect(JSON.parse(stringifyJson(args))).toEqual({ x: coerced });
    expect(validateCall('f', args, tool, mentionsOf([])).map(({ code, param }) => `${code} ${param}`)).toEqual(issues);
  });

  it.each([
    ['#/$defs/none', '/parameters/properties/x/$ref'],
    ['#code', '/parameters/properties/x/$ref'],
    ['https://example.com/schema.json', '/parameters/properties/x/$ref'],
    ['#/$defs/%E0', '/parameters/properties/x/$ref'],
    [7, '/parameters/properties/x/$ref'],
  ])('to what is not there is refused: %s', ($ref, place) => {
    expect(() => toolOf({ $ref })).toThrow(place);
  });

  it('is shown to models by its types', () => {
    expect(toolSignature(toolOf(shape))).toContain('(x: {kind: circle, radius: number}|{kind: square, side: number})');
    expect(toolSignature(toolOf(ref('tree')))).toContain('(x: {name: string, below?: [{name: string');
  });

  it('in very many ways costs a bounded time', () => {
    const many = Object.fromEntries(
      Array.from({ length: 500 }, (_, index) => [
        `n${index}`,
        {
          allOf: [{ $ref: `#/$defs/n${(index * 7 + 1) % 500}` }],
          anyOf: [{ $ref: `#/$defs/n${(index + 1) % 500}` }, { type: 'string' }],
          properties: { m: { $ref: `#/$defs/n${(index * 3) % 500}` } },
        },
      ]),
    );
    const tool = createTool({ parameters: { type: 'object', properties: { x: { $ref: '#/$defs/n0' } }, $defs: many } });
    expect(coerceArguments(parseArguments({ x: 'text' }), tool).get('x')).toBe('text');
  });
});
