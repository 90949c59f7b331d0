import { describe, expect, it } from 'vitest';
import { toGbnf } from '../../../../../src/chat/grammar/gbnf.ts';
import { fits, GrammarMatcher } from '../../../../../src/chat/grammar/matcher.ts';
import type { Rule } from '../../../../../src/chat/grammar/rule.ts';
import type { ParameterLayout } from '../../../../../src/chat/dialect/layout.ts';
import { parametersRule, writeParameters } from '../../../../../src/chat/dialect/values/parameterList.ts';
import {
  argumentsSchema,
  keyValueLayout,
  layouts,
  linesLayout,
  pairsLayout,
  pythonLayout,
  readArguments,
  toJsonValue,
  typedLayout,
  type Properties,
} from '../../../../helpers/parameterLayouts.ts';

const write = (args: object, layout: ParameterLayout): string =>
  writeParameters(toJsonValue(args) as ReadonlyMap<string, never>, layout);

/** The rule of all properties, of which some are required. @throws Error when no grammar can express it. */
function ruleOf(layout: ParameterLayout, properties: Properties, required = Object.keys(properties)): Rule {
  const compiled = parametersRule(argumentsSchema(properties, required), layout);
  if (!compiled.ok) throw new Error(JSON.stringify(compiled.errors));
  return compiled.value;
}

const accepts = (layout: ParameterLayout, schema: Properties[string], text: string): boolean =>
  fits(text, ruleOf(layout, { a: schema }));

/** Values with schemas that allow them. */
const values: readonly (readonly [schema: Properties[string], value: unknown])[] = [
  [{ type: 'string' }, 'plain'],
  [{ type: 'string' }, ''],
  [{ type: 'string' }, 'it\'s "quoted": {a, [b]} \\ 100% < 3'],
  [{ type: 'string' }, 'two\nlines\tand a tab'],
  [{ type: 'string' }, 'Zürich, 東京, 👋'],
  [{ type: 'string', minLength: 2, maxLength: 5 }, 'four'],
  [{ type: 'string', minLength: 1 }, 'a < b <<c'],
  [{ type: 'string', format: 'date' }, '2026-02-28'],
  [{ enum: ['north', 'south-east', 'Öst'] }, 'Öst'],
  [{ type: 'string', const: 'on' }, 'on'],
  [{ enum: [1, true, 'x'] }, true],
  [{ type: 'integer' }, -42],
  [{ type: 'integer', minimum: 5, maximum: 12 }, 11],
  [{ type: 'number' }, 3.25],
  [{ type: 'boolean' }, true],
  [{ type: 'boolean' }, false],
  [{ type: 'null' }, null],
  [{ type: ['string', 'null'] }, null],
  [{ type: ['string', 'null'] }, 'nothing'],
  [{ type: ['integer', 'null'] }, 7],
  [{ type: 'array', items: { type: 'string' } }, ['a', 'b, c', 'it\'s "d"']],
  [{ type: 'array', items: { type: 'integer' }, minItems: 2, maxItems: 2 }, [1, 2]],
  [{ type: 'array', items: { enum: ['a', 'b'] } }, ['b', 'a']],
  [{ type: 'array' }, []],
  [{ type: 'array' }, [1, 'x', true, null, ['y'], { z: 0.5 }]],
  [{ type: 'object', properties: { k: { type: 'string' }, n: { type: 'number' } }, required: ['k'] }, { k: 'v' }],
  [{ type: 'object' }, { theme: 'dark', on: false, deep: { list: [1] } }],
  [{ type: 'object', properties: {} }, {}],
  [{ anyOf: [{ type: 'integer' }, { type: 'array', items: { type: 'string' } }] }, ['x']],
  [{}, { any: ['thing'] }],
];

describe.each(layouts)('the values of $name', ({ layout, after }) => {
  it.each(values)('%j: %j is read as it was written, and constrained to it', (schema, value) => {
    const properties = { first: schema, other: { type: 'integer' } };
    const text = write({ first: value, other: 1 }, layout);
    expect(readArguments(text + after, { layout, after, properties })).toEqual({ first: value, other: 1 });
    const rule = ruleOf(layout, properties);
    expect(fits(text, rule), text).toBe(true);
    for (let length = 0; length < text.length; length++) expect(fits(text.slice(0, length), rule)).toBe(false);
    expect(fits(`${text}${layout.separator}${layout.key}other`, rule)).toBe(false);
  });

  it('have the declared type', () => {
    const wrong: readonly (readonly [Properties[string], unknown])[] = [
      [{ type: 'integer' }, 1.5],
      [{ type: 'integer' }, true],
      [{ type: 'integer', maximum: 9 }, 10],
      [{ type: 'boolean' }, null],
      [{ type: 'array', items: { type: 'integer' } }, ['x']],
      [{ type: 'object', properties: { k: { type: 'integer' } } }, { k: 'x' }],
      [{ type: 'string', maxLength: 3 }, 'four'],
      [{ type: 'string', format: 'date' }, '2026-02-30'],
      [{ enum: ['a', 'b'] }, 'c'],
    ];
    for (const [schema, value] of wrong) {
      expect(fits(write({ a: value }, layout), ruleOf(layout, { a: schema })), JSON.stringify([schema, value])).toBe(
        false,
      );
    }
  });

  it('are refused with a pointer where no grammar can express them', () => {
    const schema = {
      type: 'object',
      properties: {
        a: { type: 'string', pattern: 'x' },
        b: { type: 'object', properties: { c: { type: 'integer', multipleOf: 3 } } },
      },
      required: ['z'],
    } as const;
    const compiled = parametersRule(schema, layout);
    expect(compiled.ok ? [] : compiled.errors.map(({ pointer }) => pointer).toSorted()).toEqual([
      '/properties/a/pattern',
      '/properties/b/properties/c/multipleOf',
      '/required',
    ]);
  });
});

describe.each(layouts)('the parameters of $name', ({ layout, after }) => {
  const properties: Properties = { a: { type: 'integer' }, b: { type: 'string' }, c: { type: 'boolean' } };

  it('come in their order; those not required may be absent', () => {
    const rule = ruleOf(layout, properties, ['b']);
    for (const args of [{ b: 'x' }, { a: 1, b: 'x' }, { b: 'x', c: true }, { a: 1, b: 'x', c: true }]) {
      expect(fits(write(args, layout), rule), JSON.stringify(args)).toBe(true);
    }
    for (const args of [{}, { a: 1 }, { a: 1, c: true }, { c: true, b: 'x' }, { b: 'x', d: 1 }]) {
      expect(fits(write(args, layout), rule), JSON.stringify(args)).toBe(false);
    }
  });

  it('may be none where none is required', () => {
    for (const rule of [ruleOf(layout, properties, []), ruleOf(layout, {})]) {
      expect(fits(layout.empty, rule)).toBe(true);
      expect(readArguments(layout.empty + after, { layout, after })).toEqual({});
    }
    expect(fits(write({ c: true }, layout), ruleOf(layout, properties, []))).toBe(true);
    expect(fits(write({ c: true }, layout), ruleOf(layout, {}))).toBe(false);
  });

  it('need the text of no parameters where there are none', () => {
    const rule = ruleOf({ ...layout, open: `${layout.open}!`, empty: '-' }, properties, []);
    expect(fits('-', rule)).toBe(true);
    expect(fits(`${layout.open}!`, rule)).toBe(false);
  });

  it('make a grammar that is linear in their number', () => {
    const lengths = [100, 200].map((count) => {
      const many = Object.fromEntries(
        Array.from({ length: count }, (_, index) => [`p${1000 + index}`, { type: 'string' }]),
      );
      return toGbnf(GrammarMatcher.start(ruleOf(layout, many, []))).length;
    });
    expect(Number(lengths[1]) / Number(lengths[0])).toBeLessThan(2.2);
  });
});

describe('lists and objects as Python writes them', () => {
  const value = { names: ['Ann', "it's", 'a "b"', 'both \' and "', 'é\n'], flags: [true, false, null], n: 1.5 };
  const written = `{'names': ['Ann', "it's", 'a "b"', 'both \\' and "', 'é\\n'], 'flags': [True, False, None], 'n': 1.5}`;

  it.each([
    ['between marks', linesLayout, `\n<arg=a>\n${written}\n</arg>`],
    ['in a call', pythonLayout, `(a=${written}`],
  ])('are written, read and accepted %s', (_, layout, text) => {
    const python = { ...layout, style: { ...layout.style, nested: 'python' } } as const;
    expect(write({ a: value }, python)).toBe(text);
    const properties = { a: { type: 'object' } };
    const after = layout === linesLayout ? '</call>' : ')';
    expect(readArguments(text + after, { layout: python, after, properties })).toEqual({ a: value });
    expect(accepts(python, { type: 'object' }, text)).toBe(true);
    const list = { type: 'object', properties: { flags: { type: 'array', items: { enum: ['x', true] } } } };
    expect(accepts(python, list, write({ a: { flags: ['x', true] } }, python))).toBe(true);
    expect(accepts(python, list, write({ a: { flags: ['y'] } }, python))).toBe(false);
  });
});

describe('what a model may write under a grammar', () => {
  it('is raw text between marks, without the mark that closes it', () => {
    const text = (value: string): string => `\n<arg=a>\n${value}\n</arg>`;
    for (const value of ['"x"', 'a <b> </b> <<', 'null', '</ar', 'x\n\n']) {
      expect(accepts(linesLayout, { type: 'string' }, text(value)), value).toBe(true);
    }
    for (const value of ['x</arg>', 'x <arg=b> y']) {
      expect(accepts(linesLayout, { type: 'string' }, text(value)), value).toBe(false);
    }
  });

  it('has the marks of its type', () => {
    const schema = { type: ['string', 'integer'] };
    expect(accepts(typedLayout, schema, '<p name="a" text="yes">x</p>')).toBe(true);
    expect(accepts(typedLayout, schema, '<p name="a" text="no">1</p>')).toBe(true);
    expect(accepts(typedLayout, schema, '<p name="a" text="no">x</p>')).toBe(false);
    expect(accepts(pairsLayout, { enum: ['a', 1] }, '<k>a</k>\n<v>1</v>')).toBe(true);
  });

  it('has booleans and null as the layout writes them', () => {
    expect(accepts(linesLayout, { type: 'boolean' }, '\n<arg=a>\nTrue\n</arg>')).toBe(true);
    expect(accepts(linesLayout, { type: 'boolean' }, '\n<arg=a>\ntrue\n</arg>')).toBe(false);
    expect(accepts(pythonLayout, { type: 'null' }, '(a=None')).toBe(true);
    expect(accepts(pythonLayout, { type: 'null' }, '(a=null')).toBe(false);
    expect(accepts(pythonLayout, { type: 'array' }, '(a=[None, null, True, true]')).toBe(true);
  });

  it('has Python strings with quotes of their own, as templates write them', () => {
    for (const text of ["(a='it's \"fine\"'", "(a='rock 'n' roll'", "(a='it\\'s'", "(a=''"]) {
      expect(accepts(pythonLayout, { type: 'string' }, text), text).toBe(true);
    }
    for (const text of ["(a='x', b='y'", "(a='x')'", "(a='x'"]) {
      expect(accepts(pythonLayout, { type: 'string', maxLength: 9 }, text), text).toBe(text === "(a='x'");
    }
    expect(accepts(pythonLayout, { type: 'array' }, '(a=[\'x\', "y"]')).toBe(true);
  });

  it('has no string with the mark of strings, nor values and names that contain one', () => {
    expect(accepts(keyValueLayout, { type: 'string' }, '{a:<|s|>x <|s|> y<|s|>')).toBe(false);
    expect(() => ruleOf(keyValueLayout, { a: { enum: ['x<|s|>y'] } })).toThrow('/properties/a/enum');
    expect(() => ruleOf(linesLayout, { a: { enum: ['x</arg>y'] } })).toThrow('/properties/a/enum');
    expect(() => ruleOf(linesLayout, { 'a>': { type: 'string' } })).toThrow('/properties/a>');
    expect(() => ruleOf(pythonLayout, { 'a=': { type: 'string' } })).toThrow('/properties/a=');
    expect(() => ruleOf(keyValueLayout, { '1st': { type: 'string' } })).toThrow('/properties/1st');
  });

  it('is no list of whole calls', () => {
    const compiled = parametersRule({ type: 'object', enum: [{}] }, linesLayout);
    expect(compiled.ok ? [] : compiled.errors.map(({ pointer }) => pointer)).toEqual(['/enum']);
  });
});
