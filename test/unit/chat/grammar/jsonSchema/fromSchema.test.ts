import { describe, expect, it } from 'vitest';
import { ruleFromSchema } from '../../../../../src/chat/grammar/jsonSchema/fromSchema.ts';
import { fits } from '../../../../../src/chat/grammar/matcher.ts';
import { objectSchema, ruleFor } from '../../../../helpers/grammarRules.ts';

describe('a rule from a schema', () => {
  it.each<[string, object, readonly string[], readonly string[]]>([
    [
      'a string',
      { type: 'string' },
      ['""', '"a\\"b"', '"\\u00e9"', '"é東🎉"'],
      ['"', '"\n"', '"\\x"', '"\\ud800"', ' ""', 'a'],
    ],
    [
      'a string of a length',
      { type: 'string', minLength: 2, maxLength: 3 },
      ['"ab"', '"🎉🎉🎉"', '"a\\nb"'],
      ['"a"', '"abcd"'],
    ],
    [
      'an integer',
      { type: 'integer' },
      ['0', '-1', '42', '9007199254740993'],
      ['-0', '01', '1.0', '1e3', '1234567890123456789'],
    ],
    [
      'integers from 8 to 123',
      { type: 'integer', minimum: 8, maximum: 123 },
      ['8', '9', '10', '99', '100', '119', '123'],
      ['7', '0', '124', '130', '200', '-8', '08'],
    ],
    [
      'integers from -12 to 3',
      { type: 'integer', exclusiveMinimum: -13, exclusiveMaximum: 4 },
      ['-12', '-9', '-1', '0', '3'],
      ['-13', '-20', '4', '-0'],
    ],
    ['integers above 97', { type: 'integer', minimum: 97.5 }, ['98', '99', '100', '1000000'], ['97', '9', '0', '-98']],
    ['a number', { type: 'number' }, ['0', '-0.5', '3.14', '12'], ['.5', '1.', '1e5', '+1', '00']],
    ['numbers from 0 to 1', { type: 'number', minimum: 0, maximum: 1 }, ['0', '0.75', '1'], ['1.5', '-0.5', '2']],
    ['an enum', { type: 'string', enum: ['a', 'ab', 'b"c'] }, ['"a"', '"ab"', '"b\\"c"'], ['"b"', '"abc"', 'a']],
    ['an enum of one type', { type: 'integer', enum: [1, 'two', 3] }, ['1', '3'], ['"two"', '2']],
    ['a constant', { const: { a: [1, null] } }, ['{"a": [1, null]}'], ['{"a":[1,null]}', '{}']],
    ['a boolean', { type: 'boolean' }, ['true', 'false'], ['True', 'null', '']],
    ['a string or nothing', { type: ['string', 'null'] }, ['"x"', 'null'], ['1']],
    ['a list', { type: 'array', items: { type: 'integer' } }, ['[]', '[1]', '[1, 2]'], ['[1,2]', '[1, ]', '["a"]']],
    [
      'a list of a length',
      { type: 'array', items: { enum: [1] }, minItems: 2, maxItems: 3 },
      ['[1, 1]', '[1, 1, 1]'],
      ['[]', '[1]', '[1, 1, 1, 1]'],
    ],
    [
      'an object',
      objectSchema({ a: { type: 'integer' }, b: { type: 'boolean' } }),
      ['{"a": 1, "b": true}'],
      ['{"b": true, "a": 1}', '{"a": 1}', '{}', '{"a": 1, "b": true, "c": 1}'],
    ],
    [
      'optional members',
      objectSchema({ a: { enum: [1] }, b: { enum: [2] }, c: { enum: [3] } }, ['b']),
      ['{"b": 2}', '{"a": 1, "b": 2}', '{"b": 2, "c": 3}', '{"a": 1, "b": 2, "c": 3}'],
      ['{}', '{"a": 1}', '{, "b": 2}', '{"c": 3, "b": 2}'],
    ],
    [
      'only optional members',
      objectSchema({ a: { enum: [1] }, b: { enum: [2] } }, []),
      ['{}', '{"a": 1}', '{"b": 2}', '{"a": 1, "b": 2}'],
      ['{"b": 2, "a": 1}', '{"a": 1, }'],
    ],
    ['an object without members', { type: 'object', properties: {} }, ['{}'], ['{"a": 1}', '{ }']],
    [
      'one of several schemas',
      { anyOf: [objectSchema({ a: { enum: [1] } }), objectSchema({ b: { enum: [2] } })] },
      ['{"a": 1}', '{"b": 2}'],
      ['{"a": 2}', '{"a": 1, "b": 2}'],
    ],
    ['branches that are equal', { anyOf: [{ const: 1 }, { type: 'null' }, { const: 1.0 }] }, ['1', 'null'], ['2']],
    ['schemas of different types', { oneOf: [{ type: 'string' }, { type: 'integer' }] }, ['"a"', '1'], ['true']],
    [
      'schemas told apart by a member',
      { oneOf: [objectSchema({ kind: { const: 'a' } }), objectSchema({ kind: { const: 'b' } })] },
      ['{"kind": "a"}', '{"kind": "b"}'],
      ['{"kind": "c"}'],
    ],
    ['anything', {}, ['1', '"a"', '[1, {"a": [true, null]}]', '{}'], ['[[[[1]]]]', '{"a":1}', 'x']],
    ['any object', { type: 'object' }, ['{}', '{"a": {"b": [1]}}'], ['[]', '{"a": {"b": [[1]]}}']],
    [
      'a date',
      { type: 'string', format: 'date' },
      ['"2024-02-29"', '"2023-12-31"', '"2000-02-29"'],
      ['"2023-02-29"', '"1900-02-29"', '"2023-04-31"', '"2023-13-01"', '"2023-00-10"', '"23-01-01"'],
    ],
    [
      'a time',
      { type: 'string', format: 'time' },
      ['"23:59:59Z"', '"00:00:00.5+02:00"'],
      ['"24:00:00Z"', '"12:00:00"', '"12:60:00Z"'],
    ],
    [
      'a date and time',
      { type: 'string', format: 'date-time' },
      ['"2024-02-29T10:00:00Z"'],
      ['"2024-02-29 10:00:00Z"'],
    ],
    ['a UUID', { type: 'string', format: 'uuid' }, ['"123e4567-E89b-12d3-a456-426614174000"'], ['"123e4567"']],
    ['an address', { type: 'string', format: 'email' }, ['"a.b@c-d.org"'], ['"a@b"', '"@b.c"', '"a..b@c.d"']],
    [
      'what references name',
      {
        ...objectSchema({
          from: { $ref: '#/$defs/place' },
          to: { $ref: '#/$defs/place' },
          note: { $ref: '#/$defs/x%20y' },
        }),
        $defs: {
          place: objectSchema({ x: { $ref: '#/$defs/whole' } }),
          whole: { type: 'integer' },
          'x y': { enum: ['a'] },
        },
      },
      ['{"from": {"x": 1}, "to": {"x": 2}, "note": "a"}'],
      ['{"from": {"x": "1"}, "to": {"x": 2}, "note": "a"}', '{"from": {"x": 1}, "to": {}, "note": "a"}'],
    ],
    [
      'a part of the schema itself',
      objectSchema({ a: { type: 'boolean' }, b: { $ref: '#/properties/a' } }),
      ['{"a": true, "b": false}'],
      ['{"a": true, "b": 1}'],
    ],
    [
      'all of one schema, with annotations',
      { description: 'A colour.', allOf: [{ $ref: '#/$defs/colour' }], $defs: { colour: { enum: ['red', 'blue'] } } },
      ['"red"', '"blue"'],
      ['"green"', 'null'],
    ],
    [
      'one of what references name',
      {
        oneOf: [{ $ref: '#/$defs/a' }, { $ref: '#/$defs/b' }],
        $defs: {
          a: objectSchema({ kind: { const: 'a' } }),
          b: objectSchema({ kind: { const: 'b' }, n: { type: 'integer' } }),
        },
      },
      ['{"kind": "a"}', '{"kind": "b", "n": 1}'],
      ['{"kind": "b"}', '{"kind": "a", "n": 1}'],
    ],
  ])('accepts %s', (_, schema, accepted, rejected) => {
    const rule = ruleFor(schema);
    expect(accepted.filter((text) => !fits(text, rule))).toEqual([]);
    expect(rejected.filter((text) => fits(text, rule))).toEqual([]);
  });

  it('ignores annotations', () => {
    const schema = { type: 'string', title: 't', description: 'd', default: 'x', examples: ['x'], 'x-mine': 1 };
    expect(ruleFromSchema(schema)).toEqual(ruleFromSchema({ type: 'string' }));
  });

  it('ignores keywords of other types, which restrict nothing', () => {
    const schema = { type: 'integer', minItems: 5, maxLength: 3, properties: { a: { type: 'x' } } };
    expect(ruleFromSchema(schema)).toEqual(ruleFromSchema({ type: 'integer' }));
  });

  it('is plain data', () => {
    const rule = ruleFor(objectSchema({ a: { type: 'string' }, b: { type: 'array' } }, ['a']));
    expect(JSON.parse(JSON.stringify(rule))).toEqual(rule);
  });
});

describe('a schema that no grammar can express', () => {
  it('is told of the faults of its properties beside an undeclared key', () => {
    const schema = { type: 'object', properties: { a: { $ref: '#' } }, required: ['b'] };
    const result = ruleFromSchema(schema);
    expect(result.ok ? [] : result.errors.map(({ pointer }) => pointer)).toEqual(['/required', '/properties/a/$ref']);
  });

  it.each<[string, object | boolean, string, string]>([
    ['a pattern', { type: 'string', pattern: '^a' }, '/pattern', 'is "pattern", which a grammar cannot express'],
    ['a reference to nothing', { $ref: '#/$defs/a' }, '/$ref', 'refers to "#/$defs/a", which is not there'],
    ['a reference to another document', { $ref: 'https://a.example/b' }, '/$ref', 'which is not there'],
    ['a reference to the whole', { anyOf: [{ type: 'null' }, { $ref: '#' }] }, '/anyOf/1/$ref', 'contains itself'],
    [
      'a schema that contains itself',
      {
        $ref: '#/$defs/tree',
        $defs: { tree: objectSchema({ left: { $ref: '#/$defs/leaf' } }), leaf: { $ref: '#/$defs/tree' } },
      },
      '/$defs/leaf/$ref',
      'refers to "#/$defs/tree", which contains itself, which a grammar cannot express',
    ],
    [
      'a pattern in what a reference names',
      { ...objectSchema({ a: { $ref: '#/$defs/x~1y' } }), $defs: { 'x/y': { type: 'string', pattern: 'x' } } },
      '/$defs/x~1y/pattern',
      '"pattern"',
    ],
    [
      'a length beside a reference',
      { $ref: '#/$defs/a', maxLength: 3, $defs: { a: { type: 'string' } } },
      '/maxLength',
      'together with "$ref"',
    ],
    ['a negation', { not: { type: 'string' } }, '/not', '"not"'],
    ['a condition', { type: 'object', if: {}, then: {} }, '/if', '"if"'],
    ['a sum of schemas', { allOf: [{ type: 'string' }, { maxLength: 3 }] }, '/allOf', '"allOf"'],
    [
      'an unknown format',
      { type: 'string', format: 'uri' },
      '/format',
      'is "uri", which a grammar does not know; it knows date, time',
    ],
    [
      'a length with a format',
      { format: 'date', type: 'string', maxLength: 5 },
      '/maxLength',
      'together with "format"',
    ],
    ['a large minimum length', { type: 'string', minLength: 300 }, '/minLength', 'from 0 to 256'],
    [
      'lengths that exclude each other',
      { type: 'string', minLength: 3, maxLength: 2 },
      '/maxLength',
      'not below "minLength"',
    ],
    ['a divisor', { type: 'integer', multipleOf: 5 }, '/multipleOf', '"multipleOf"'],
    ['limits that exclude each other', { type: 'integer', minimum: 3, maximum: 2 }, '', 'no number between 3 and 2'],
    [
      'an open limit of integers and other numbers',
      { type: ['integer', 'number'], exclusiveMinimum: 0 },
      '/exclusiveMinimum',
      '"exclusiveMinimum"',
    ],
    ['a fractional limit of a number', { type: 'number', minimum: 0.5 }, '/minimum', 'a whole number'],
    ['a limit above all numbers', { type: 'number', minimum: 1e21 }, '/minimum', 'at most 2^53 - 1'],
    [
      'a limit below all numbers',
      { type: 'integer', exclusiveMaximum: -1e18 },
      '/exclusiveMaximum',
      'at most 2^53 - 1',
    ],
    ['an open limit of a number', { type: 'number', exclusiveMinimum: 0 }, '/exclusiveMinimum', '"exclusiveMinimum"'],
    ['keys by pattern', { type: 'object', patternProperties: {} }, '/patternProperties', '"patternProperties"'],
    [
      'a schema for other keys',
      { type: 'object', additionalProperties: { type: 'string' } },
      '/additionalProperties',
      'is a schema, which a grammar cannot express',
    ],
    [
      'a key that is not declared',
      { type: 'object', properties: {}, required: ['a'] },
      '/required',
      'names "a", which is not declared',
    ],
    [
      'a list of schemas',
      { type: 'array', items: [{ type: 'string' }] },
      '/items',
      'is a list of schemas, which a grammar cannot express',
    ],
    ['unique elements', { type: 'array', items: {}, uniqueItems: true }, '/uniqueItems', '"uniqueItems"'],
    ['branches that overlap', { oneOf: [{ type: 'integer' }, { type: 'number' }] }, '/oneOf', 'keep apart'],
    [
      'branches that overlap in a type beside them',
      {
        type: ['object', 'null'],
        oneOf: [1, 2].map((value) => ({ properties: { a: { const: value } }, required: ['a'] })),
      },
      '/oneOf',
      'keep apart',
    ],
    ['a length with an enum', { type: 'string', enum: ['a'], minLength: 1 }, '/minLength', 'together with "enum"'],
    ['an enum of another type', { type: 'string', enum: [1] }, '/enum', 'has no value'],
    ['an array as a branch', { type: 'array', anyOf: [[]] }, '/anyOf/0', 'is no schema'],
    ['an array as a branch beside another type', { type: 'string', oneOf: [[{}]] }, '/oneOf/0', 'is no schema'],
    ['a constant of thousands of characters', { const: 'x'.repeat(70_000) }, '/const', 'larger than 65536'],
    [
      'thousands of long values',
      objectSchema({ a: { type: 'integer' }, b: { enum: range(2000).map((index) => `${'v'.repeat(40)}${index}`) } }),
      '/properties/b/enum',
      'larger than 65536',
    ],
    [
      'too many arrays with a maximum',
      objectSchema(Object.fromEntries(range(100).map((index) => [index, { type: 'array', items: {}, maxItems: 200 }]))),
      '/properties/39',
      'larger than 65536',
    ],
    [
      'too many branches',
      { anyOf: range(2000).map((index) => objectSchema({ a: { const: index }, b: {} })) },
      '/anyOf/739',
      'larger than 65536',
    ],
    [
      'too many members that may be absent',
      objectSchema(Object.fromEntries(range(1100).map((index) => [`p${index}`, { type: 'integer' }])), []),
      '',
      'more than 1024 alternatives',
    ],
    [
      'values with too many different first characters',
      { enum: range(1500).map((index) => String.fromCodePoint(0x4e00 + index)) },
      '/enum',
      'more than 1024 alternatives',
    ],
    [
      'too many schemas',
      objectSchema(Object.fromEntries(range(9000).map((index) => [`p${index}`, { type: 'integer' }]))),
      '',
      '8192 properties, branches and values',
    ],
    [
      'too many values',
      objectSchema({ a: { enum: range(9000) } }),
      '/properties/a/enum',
      '8192 properties, branches and values',
    ],
    [
      'many objects of many members',
      {
        type: 'array',
        items: {
          anyOf: range(10).map(() => objectSchema(Object.fromEntries(range(1000).map((index) => [index, {}])))),
        },
      },
      '/items/anyOf/2',
      'larger than 65536',
    ],
    ['an unknown type', { type: 'date' }, '/type', 'is no type: "date"'],
    ['a type with the name of a method', { type: 'toString' }, '/type', 'is no type: "toString"'],
    ['false', false, '', 'is no schema'],
    [
      'a nested pattern',
      objectSchema({
        a: { anyOf: [{ type: 'array', items: objectSchema({ 'b/c': { type: 'string', pattern: 'x' } }) }] },
      }),
      '/properties/a/anyOf/0/items/properties/b~1c/pattern',
      '"pattern"',
    ],
  ])('is rejected: %s', (_, schema, pointer, message) => {
    const errors = [{ pointer, message: expect.stringContaining(message) }];
    expect(ruleFromSchema(schema)).toEqual({ ok: false, errors: expect.arrayContaining(errors) });
  });

  it('is rejected with the problem of each branch', () => {
    const reading = ruleFromSchema({ anyOf: [{ not: { const: 1 } }, { not: { const: 2 } }] });
    expect(reading.ok ? [] : reading.errors.map(({ pointer }) => pointer)).toEqual(['/anyOf/0/not', '/anyOf/1/not']);
  });

  it('is rejected with all its problems', () => {
    const reading = ruleFromSchema(objectSchema({ a: { type: 'string', pattern: 'x' }, b: { $ref: '#' } }));
    expect(reading.ok ? [] : reading.errors.map(({ pointer }) => pointer)).toEqual([
      '/properties/a/pattern',
      '/properties/b/$ref',
    ]);
  });

  it('is rejected with its first problems when it has thousands', () => {
    const patterns = range(5000).map((index) => [`p${index}`, { type: 'string', pattern: 'x' }]);
    const reading = ruleFromSchema(objectSchema(Object.fromEntries(patterns)));
    expect(reading.ok ? 0 : reading.errors.length).toBe(100);
  });

  it.each([
    ['1,000 values of 40 characters', { enum: range(1000).map((index) => `${'v'.repeat(36)}${1000 + index}`) }],
    ['200 members that may be absent', objectSchema(Object.fromEntries(range(200).map((index) => [index, {}])), [])],
    [
      '1,000 required members',
      objectSchema(Object.fromEntries(range(1000).map((index) => [index, { type: 'string' }]))),
    ],
    [
      '150 branches with a constant that tells them apart',
      { oneOf: range(150).map((index) => objectSchema({ kind: { const: `k${index}` }, size: { type: 'number' } })) },
    ],
    [
      'the same limits of many texts',
      objectSchema(Object.fromEntries(range(300).map((index) => [index, { type: 'string', maxLength: 250 }]))),
    ],
  ])('is large enough for %s', (_, schema) => {
    expect(ruleFromSchema(schema)).toMatchObject({ ok: true });
  });

  it('applies a type to a branch that allows anything', () => {
    const rule = ruleFor({ type: 'integer', anyOf: [true, {}] });
    expect(['12', '"a"', '[1]'].filter((text) => fits(text, rule))).toEqual(['12']);
  });
});

function range(count: number): readonly number[] {
  return Array.from({ length: count }, (_, index) => index);
}
