import { runInNewContext } from 'node:vm';
import * as v from 'valibot';
import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { readTools } from '../../../../src/client/executor/defineTool.ts';
import type { StandardSchema } from '../../../../src/client/index.ts';

/** The check of arguments by a schema. */
const check = async (parameters: unknown, args: unknown): Promise<unknown> =>
  readTools({ tool: { parameters, run: () => {} } })
    .get('tool')
    ?.check?.(args);

const light = {
  type: 'object',
  properties: {
    name: { type: 'string', enum: ['porch', 'hall'] },
    on: { type: 'boolean' },
    level: { type: 'integer', minimum: 1, maximum: 5 },
    times: { type: 'array', items: { type: 'object', properties: { hour: { type: 'integer' } }, required: ['hour'] } },
    code: { type: 'string', pattern: '^[a-z]+$', maxLength: 3 },
    who: { anyOf: [{ type: 'string' }, { type: 'null' }] },
    'a/b ~%#': { type: 'number' },
    toString: { type: 'string' },
  },
  required: ['name', 'on'],
};
const valid = { name: 'porch', on: true };

describe('arguments that are checked by a JSON Schema', () => {
  it.each<[string, object]>([
    ['the required ones', {}],
    ['all of them', { level: 3, times: [{ hour: 3.0 }], code: 'abc', who: null, toString: 'x' }],
    ['one more', { extra: 1 }],
  ])('are what they are: %s', async (_, more) => {
    expect(await check(light, { ...valid, ...more })).toEqual({ ok: true, value: { ...valid, ...more } });
  });

  it.each<[object, string]>([
    [{ on: 'yes' }, 'on: Instance type "string" is invalid. Expected "boolean".'],
    [{ name: 'attic' }, 'name: Instance does not match any of ["porch","hall"].'],
    [{ level: 9 }, 'level: 9 is greater than 5.'],
    [{ level: 1.5 }, 'level: Instance type "number" is invalid. Expected "integer".'],
    [
      { times: [{ hour: 1 }, { hour: 'x' }, {}] },
      'times[1].hour: Instance type "string" is invalid. Expected "integer". times[2]: Instance does not have required property "hour".',
    ],
    [{ code: 'ABCD' }, 'code: String is too long (4 > 3). code: String does not match pattern.'],
    [
      { who: 5 },
      'who: Instance does not match any subschemas. who: Instance type "number" is invalid. Expected "string". who: Instance type "number" is invalid. Expected "null".',
    ],
    [{ 'a/b ~%#': 'x' }, 'a/b ~%#: Instance type "string" is invalid. Expected "number".'],
  ])('are refused with the place and what is wrong: %o', async (more, message) => {
    expect(await check(light, { ...valid, ...more })).toEqual({ ok: false, message });
  });

  it.each<[string, object, object, boolean]>([
    ['a pattern', { code: { type: 'string', pattern: '^(a+)+$' } }, { code: `${'a'.repeat(40)}!` }, false],
    [
      'the pattern of a name',
      { '': { patternProperties: { '^(a+)+$': false } } },
      { '': { [`${'a'.repeat(40)}!`]: 1 } },
      true,
    ],
    ['a format', { code: { type: 'string', format: 'url' } }, { code: `http://${'a'.repeat(60)}_` }, true],
  ])('take no exponential time: %s', async (_, properties, args, ok) => {
    const checked = runInNewContext(
      'run()',
      { run: () => check({ properties }, args) },
      { timeout: 20_000 },
    ) as unknown;
    expect(await checked).toMatchObject({ ok });
  });

  it.each<[string, object, object, string]>([
    ['its own format, too', { a: { pattern: 'x', format: 'email' } }, { a: 'x' }, 'a: String does not match pattern.'],
    [
      'within a list',
      { a: { items: { pattern: '^x' } } },
      { a: ['x', 1, 'y'] },
      'a[2]: String does not match pattern.',
    ],
    [
      'as JavaScript writes it',
      { a: { pattern: '^\\u00e9\\/(?<n>\\d)$' } },
      { a: 'é/x' },
      'a: String does not match pattern.',
    ],
    [
      'of names',
      { a: { patternProperties: { '^x': { type: 'string' } } } },
      { a: { x1: 'a', x2: 1, y: 1 } },
      'a.x2: Instance type "number" is invalid. Expected "string".',
    ],
    [
      'of no name',
      { a: { patternProperties: { '^[x]$': true, '^(y|\\.)$': true }, additionalProperties: false } },
      { a: { x: 1, '.': 1, y: 1, z: 1 } },
      'a.z: is not allowed',
    ],
    [
      'of all names',
      { a: { propertyNames: { pattern: '^x' } } },
      { a: { x: 1, y: 1 } },
      'a.y: String does not match pattern.',
    ],
    ['that must not match', { a: { not: { pattern: '^x' } } }, { a: 'x' }, 'a: Instance matched "not" schema.'],
  ])('match a pattern %s', async (_, properties, args, message) => {
    expect(await check({ properties }, args)).toEqual({
      ok: false,
      message: expect.stringContaining(message) as string,
    });
    // The next arguments are checked anew.
    expect(await check({ properties }, {})).toEqual({ ok: true, value: {} });
  });

  it('are checked anew each time, by one check', async () => {
    const schema = { properties: { a: { pattern: '^x', patternProperties: { '^x': { type: 'string' } } } } };
    const once = readTools({ tool: { parameters: schema, run: () => {} } }).get('tool')?.check;
    for (const [a, ok] of [
      ['x', true],
      ['y', false],
      [{ x: 1 }, false],
      [{ x: 'a' }, true],
      [{ y: 1 }, true],
    ] as const)
      expect(await once?.({ a })).toMatchObject({ ok });
  });

  it.each([
    ['a lookahead', '^(?=x)'],
    ['a back reference', '(x)\\1'],
    ['a large repetition', '(?:x{100}){100}'],
    ['a mistake', '('],
  ])('are not checked by a pattern with %s', async (_, pattern) => {
    const rest = { a: 'z', b: { c: 1 } };
    const named = { patternProperties: { [pattern]: false }, additionalProperties: false };
    expect(await check({ properties: { a: { pattern }, b: named } }, rest)).toEqual({ ok: true, value: rest });
  });

  it('may have a thousand names where names have patterns', async () => {
    const schema = { patternProperties: { '^n': { type: 'number' } } };
    const withNames = (count: number) =>
      Object.fromEntries(Array.from({ length: count }, (_, index) => [`n${index}`, 1]));
    expect(await check(schema, withNames(1000))).toMatchObject({ ok: true });
    expect(await check(schema, withNames(1001))).toEqual({
      ok: false,
      message: 'There are more than 1000 names in it.',
    });
  });

  it.each<[string, object, object, string]>([
    ['a missing one', light, { on: true }, 'Instance does not have required property "name".'],
    ['one too many', { ...light, additionalProperties: false }, { ...valid, x: 1 }, 'x: is not allowed'],
    [
      'one named __proto__',
      { ...light, additionalProperties: false },
      JSON.parse('{"name":"hall","on":true,"__proto__":1}'),
      '__proto__: is not allowed',
    ],
    [
      'one by reference',
      { $defs: { n: { type: 'number' } }, properties: { n: { $ref: '#/$defs/n' } } },
      { n: 'x' },
      'n: Instance type "string" is invalid. Expected "number".',
    ],
  ])('are refused for %s', async (_, schema, args, message) => {
    expect(await check(schema, args)).toEqual({ ok: false, message });
  });

  it('are not changed, and neither is the schema, which may be frozen', async () => {
    const frozen = Object.freeze({ type: 'object', properties: Object.freeze({ n: Object.freeze({ default: 3 }) }) });
    expect(await check(frozen, {})).toEqual({ ok: true, value: {} });
    expect(Object.getOwnPropertyNames(frozen)).toEqual(['type', 'properties']);
  });

  it('are checked by the schema as it was when the executor was created', async () => {
    const schema = { type: 'object', required: ['a'] };
    const registered = readTools({ tool: { parameters: schema, run: () => {} } }).get('tool');
    schema.required.push('b');
    expect(await registered?.check?.({ a: 1 })).toMatchObject({ ok: true });
  });

  it.each([
    'http://json-schema.org/draft-04/schema#',
    'http://json-schema.org/draft-07/schema#',
    'https://json-schema.org/draft/2019-09/schema',
    'https://json-schema.org/draft/2020-12/schema',
  ])('are checked by the draft that the schema names: %s', async ($schema) => {
    // In drafts 4 and 7 keywords beside $ref do not count.
    const schema = {
      $schema,
      definitions: { n: { type: 'number' } },
      properties: { n: { $ref: '#/definitions/n', minimum: 5 } },
    };
    expect(await check(schema, { n: 1 })).toMatchObject({ ok: $schema.includes('draft-') });
  });
});

/** A Standard Schema that is none of a library: it is asynchronous, and gives a Map. */
const handMade: StandardSchema = {
  '~standard': {
    version: 1,
    vendor: 'test',
    validate: async (value) => {
      const { city } = value as { readonly city?: unknown };
      if (typeof city === 'string') return { value: new Map([['city', city]]) };
      return { issues: [{ message: 'no city', path: ['place', { key: 'list' }, 0] }, { message: 'and no country' }] };
    },
  },
};

describe('arguments that are checked by a Standard Schema', () => {
  it.each<[string, unknown, object, unknown]>([
    ['Zod', z.object({ minutes: z.string().transform(Number) }), { minutes: '5' }, { minutes: 5 }],
    [
      'Zod, asynchronously',
      z.object({ city: z.string().refine(async (city) => city !== '') }),
      { city: 'Bonn' },
      { city: 'Bonn' },
    ],
    ['Valibot', v.object({ level: v.optional(v.number(), 3) }), {}, { level: 3 }],
    ['a schema of no library', handMade, { city: 'Bonn' }, new Map([['city', 'Bonn']])],
    ['a schema that is a function', Object.assign(() => {}, handMade), { city: 'Bonn' }, new Map([['city', 'Bonn']])],
  ])('are what it makes of them: %s', async (_, schema, args, value) => {
    expect(await check(schema, args)).toMatchObject({ value });
  });

  it.each<[string, unknown, string]>([
    [
      'Zod',
      z.object({ list: z.array(z.object({ city: z.string() })) }),
      'list[0].city: Invalid input: expected string, received number',
    ],
    [
      'Valibot',
      v.object({ list: v.array(v.object({ city: v.string() })) }),
      'list[0].city: Invalid type: Expected string but received 5',
    ],
    ['a schema of no library', handMade, 'place.list[0]: no city; and no country'],
  ])('are refused with the place and what is wrong: %s', async (_, schema, message) => {
    expect(await check(schema, { list: [{ city: 5 }] })).toEqual({ ok: false, message });
  });

  it('fail when the schema throws', async () => {
    const broken = {
      '~standard': {
        version: 1,
        vendor: 'x',
        validate: () => {
          throw new Error('broken schema');
        },
      },
    };
    await expect(check(broken, {})).rejects.toThrow('broken schema');
  });
});
