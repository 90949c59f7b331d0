import { describe, expect, it } from 'vitest';
import { createReader, type ReadResult } from '../../../../../src/protocol/schema.ts';
import { withEnums, readEnumValues } from '../../../../../src/chat/tools/declaration/enumSource.ts';
import { readTool } from '../../../../../src/chat/tools/declaration/readTool.ts';
import { toolSchema } from '../../../../../src/chat/tools/declaration/toolSchema.ts';
import { functionJson } from '../../../../../src/chat/formats/toolText.ts';
import type { EnumSource, Tool } from '../../../../../src/chat/tool.ts';

const checkForm = createReader(toolSchema);

function read(parameters: unknown): ReadResult<Tool> {
  const form = checkForm({ name: 'give', description: 'Gives.', parameters });
  return form.ok ? readTool(form.value) : form;
}

function toolOf(parameters: unknown): Tool {
  const reading = read(parameters);
  if (!reading.ok) throw new Error(JSON.stringify(reading.errors));
  return reading.value;
}

const item = { type: 'string', enum_from: 'inventory' };
const object = (properties: object): object => ({ type: 'object', properties });

/** The tool in a turn in which every variable has the same values. */
const inTurn = (tool: Tool, values: readonly unknown[]): Tool =>
  withEnums(tool, new Map((tool.enumSources ?? []).map((source) => [source, values])));

describe('a parameter with enum_from', () => {
  it.each<[string, (facts: object) => unknown, string]>([
    [
      'in a list',
      (facts) => [
        { name: 'a', type: 'string' },
        { name: 'item', type: 'string', ...facts },
      ],
      'item',
    ],
    ['with a Python type', (facts) => [{ name: 'item', type: 'str', description: 'What.', ...facts }], 'item'],
    ['in a list, as items', (facts) => [{ name: 'all', type: 'array', items: { type: 'string', ...facts } }], 'all[]'],
    ['in a schema', (facts) => object({ 'a/b': { type: 'string', ...facts, description: 'What.' } }), 'a/b'],
    ['in an object', (facts) => object({ a: object({ b: { type: 'string', ...facts } }) }), 'a.b'],
    [
      'in an object of a list',
      (facts) => [{ name: 'all', type: 'array', items: object({ id: { type: 'string', ...facts } }) }],
      'all[].id',
    ],
    ['in a branch', (facts) => object({ a: { anyOf: [{ type: 'null' }, { type: 'string', ...facts }] } }), 'a'],
    ['of that name', (facts) => object({ enum_from: { type: 'string', ...facts } }), 'enum_from'],
  ])('%s is shown to the model as one with these values', (_, declare, path) => {
    const tool = toolOf(declare({ enum_from: 'inventory' }));
    expect(tool.enumSources).toMatchObject([{ path, variable: 'inventory', types: ['string'] }]);
    const shown = functionJson(inTurn(tool, ['rope', 'lamp']));
    expect(shown).toBe(functionJson(toolOf(declare({ enum: ['rope', 'lamp'] }))));
  });

  it('may have others beside it, each with its own values', () => {
    const tool = toolOf([
      { name: 'item', ...item },
      { name: 'count', type: 'integer', enum_from: 'counts' },
      { name: 'to', type: 'string' },
    ]);
    const values = new Map<EnumSource, readonly unknown[]>(
      (tool.enumSources ?? []).map((source) => [source, source.variable === 'counts' ? [1, 2] : ['rope']]),
    );
    expect(withEnums(tool, values).parameters.properties).toEqual({
      item: { type: 'string', enum: ['rope'] },
      count: { type: 'integer', enum: [1, 2] },
      to: { type: 'string' },
    });
  });

  it.each<[string, unknown, readonly string[]]>([
    [
      'next to enum, in a list',
      [{ name: 'item', ...item, enum: ['rope'] }],
      ['/parameters/0/enum_from stands next to "enum"; leave one of the two out'],
    ],
    [
      'next to enum, in a schema',
      object({ item: { ...item, enum: ['rope'] } }),
      ['/parameters/properties/item/enum_from stands next to "enum"; leave one of the two out'],
    ],
    [
      'of a list',
      [{ name: 'items', type: 'array', enum_from: 'inventory' }],
      ['/parameters/0/enum_from is for the types string, integer, number, not for "array"; move it into "items"'],
    ],
    [
      'of a boolean',
      object({ on: { type: 'boolean', enum_from: 'inventory' } }),
      ['/parameters/properties/on/enum_from is for the types string, integer, number, not for "boolean"'],
    ],
    [
      'without a type',
      object({ on: { enum_from: 'inventory' } }),
      [
        '/parameters/properties/on/enum_from is for the types string, integer, number, not for a parameter without a type',
      ],
    ],
    [
      'that may be null',
      object({ on: { type: ['string', 'null'], enum_from: 'inventory' } }),
      ['/parameters/properties/on/enum_from is for the types string, integer, number, not for ["string","null"]'],
    ],
    [
      'that is no name',
      object({ item: { type: 'string', enum_from: ['rope'] } }),
      ['/parameters/properties/item/enum_from must be a string, not ["rope"]'],
    ],
    ['that is empty', [{ name: 'item', type: 'string', enum_from: '' }], ['/parameters/0/enum_from must not be empty']],
    [
      'where no parameter is',
      { type: 'object', $defs: { item } },
      [
        '/parameters/$defs/item/enum_from is a fact of one parameter; move it to the schema of the parameter that this schema is used for',
      ],
    ],
  ])('%s is refused', (_, parameters, errors) => {
    const reading = read(parameters);
    const messages = reading.ok ? [] : reading.errors.map(({ pointer, message }) => `${pointer} ${message}`);
    expect(messages).toEqual(errors);
  });
});

describe('the values of a variable', () => {
  it.each<[string, string, readonly unknown[]]>([
    ['string', '["rope", "lamp", "rope"]', ['rope', 'lamp']],
    ['integer', ' [2, 1, 2.0] ', [2, 1]],
    ['number', '[0.5, -1]', [0.5, -1]],
    ['string', '["", "\\ud83d\\udd26", "a\\nb"]', ['', '🔦', 'a\nb']],
  ])('of type %s in %s are read, equal ones once', (type, text, values) => {
    expect(readEnumValues(text, { types: [type as 'string'] })).toEqual({ ok: true, values });
  });

  it.each<[string | undefined, string]>([
    [undefined, 'is missing; send it with the message as a JSON list of strings'],
    ['', 'is no JSON list; send it with the message as a JSON list of strings'],
    ['rope', 'is no JSON list; send it with the message as a JSON list of strings'],
    ['{"a": "rope"}', 'is no JSON list; send it with the message as a JSON list of strings'],
    ['"rope"', 'is no JSON list; send it with the message as a JSON list of strings'],
    ['null', 'is no JSON list; send it with the message as a JSON list of strings'],
    ['[]', 'is an empty list'],
    ['["rope", 3]', 'has 3 at index 1, which is no string; send it with the message as a JSON list of strings'],
    ['[null]', 'has null at index 0, which is no string; send it with the message as a JSON list of strings'],
    ['[["rope"]]', 'has a list at index 0, which is no string; send it with the message as a JSON list of strings'],
    [
      '[{"a": "rope"}]',
      'has an object at index 0, which is no string; send it with the message as a JSON list of strings',
    ],
    [
      '["\\ud83d"]',
      'has "\\ud83d" at index 0, which has half of a surrogate pair; send it with the message as a JSON list of strings',
    ],
  ])('are not read from %j', (text, problem) => {
    expect(readEnumValues(text, { types: ['string'] })).toEqual({ ok: false, problem });
  });

  it('are not read from a list that is nested deeper than JSON.stringify can follow', () => {
    const text = `${'['.repeat(16_000)}${']'.repeat(16_000)}`;
    const problem = 'has a list at index 0, which is no string; send it with the message as a JSON list of strings';
    expect(readEnumValues(text, { types: ['string'] })).toEqual({ ok: false, problem });
  });

  it('are not read from a list that is too long', () => {
    const values = Array.from({ length: 1001 }, (_, index) => `${index}`);
    const problemOf = (text: string): unknown => readEnumValues(text, { types: ['string'] });
    expect(problemOf(JSON.stringify(values.slice(1)))).toMatchObject({ ok: true });
    expect(problemOf(JSON.stringify(values))).toEqual({
      ok: false,
      problem: 'has 1001 values, and 1000 are allowed; send fewer values',
    });
    expect(problemOf(`["${'a'.repeat(40_000)}"]`)).toEqual({
      ok: false,
      problem: 'has 40004 characters, and 32768 are allowed; send fewer or shorter values',
    });
  });

  it.each([
    [
      '[1.5]',
      'integer',
      'has 1.5 at index 0, which is no integer; send it with the message as a JSON list of integers',
    ],
    [
      '[9007199254740993]',
      'integer',
      'has 9007199254740992 at index 0, which is too large a number to be exact; send it with the message as a JSON list of integers',
    ],
    [
      '[1e400]',
      'number',
      'has Infinity at index 0, which is too large a number to be exact; send it with the message as a JSON list of numbers',
    ],
  ])('are not read from %s for type %s', (text, type, problem) => {
    expect(readEnumValues(text, { types: [type as 'integer'] })).toEqual({ ok: false, problem });
  });
});
