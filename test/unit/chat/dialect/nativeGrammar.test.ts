import { describe, expect, it } from 'vitest';
import { nativeLayouts } from '../../../../scripts/nativeLayouts.mjs';
import { fits } from '../../../../src/chat/grammar/matcher.ts';
import { stringifyJson } from '../../../../src/chat/json/value.ts';
import type { CallLayout } from '../../../../src/chat/dialect/layout.ts';
import { nativeFormat, writeCalls } from '../../../../src/chat/dialect/nativeFormat.ts';
import { acceptedCalls } from '../../../../src/chat/template/derive/prove.ts';
import type { Tool } from '../../../../src/chat/tool.ts';
import { defaultReplyMarks } from '../../../../src/chat/replyMarks.ts';
import { createTool, parseArguments } from '../../../helpers/toolCalls.ts';

const layouts = Object.entries(nativeLayouts);

/** A tool whose only parameter `v` has a schema. */
const toolWith = (schema: object, required = ['v']): Tool =>
  createTool({ name: 'use', parameters: { type: 'object', properties: { v: schema }, required } });

const other = createTool({ name: 'use_more', parameters: { type: 'object', properties: {}, required: [] } });

const written = (layout: CallLayout, args: object, name = 'use'): string =>
  writeCalls([{ id: 'a1B2c3D4e', name, arguments: parseArguments(args) }], layout);

/** Whether the grammar of a required call matches a text to its end. */
function isRequiredCall(layout: CallLayout, tools: readonly Tool[], text: string): boolean {
  const grammar = nativeFormat(layout).grammar?.(tools, { kind: 'required' });
  return grammar?.kind === 'full' && fits(text, grammar.rule);
}

/** Whether strings stand between the same marks as other values, without quotes. */
const isUnmarked = ({ arguments: notation }: CallLayout): boolean =>
  notation.kind === 'parameters' && notation.style.quote === '' && notation.string.open === notation.other.open;

const schemas: readonly [name: string, schema: object, good: readonly unknown[], bad: readonly unknown[]][] = [
  ['a string', { type: 'string' }, ['', 'a b', 'Zürich 🐈', 'a: b, c=d', '(x) [y] {z}', 'two\n\nlines'], [1, true, []]],
  [
    'a string of limited length',
    { type: 'string', minLength: 2, maxLength: 4 },
    ['ab', 'a b', '🐈🐈🐈🐈'],
    ['a', 'abcde'],
  ],
  ['an enum', { enum: ['low', 'high', 3, true, null] }, ['low', 'high', 3, true, null], ['middle', 4, false]],
  ['a constant', { const: 'on' }, ['on'], ['off', 'onn']],
  ['an integer', { type: 'integer' }, [0, -12, 9007199254740991], [1.5, 'x', true, null]],
  ['an integer in a range', { type: 'integer', minimum: -3, maximum: 12 }, [-3, 0, 12], [-4, 13]],
  ['a number', { type: 'number' }, [0.5, -2.25, 12], ['x', false]],
  ['a boolean', { type: 'boolean' }, [true, false], ['yes', 0, null]],
  ['null', { type: 'null' }, [null], [0, false]],
  ['a string or null', { type: ['string', 'null'] }, ['x', null], [1, true]],
  [
    'one of two',
    { anyOf: [{ type: 'integer' }, { type: 'array', items: { type: 'integer' } }] },
    [1, [1, 2]],
    ['x', ['x']],
  ],
  ['a list', { type: 'array', items: { type: 'string' } }, [[], ['a'], ['a b', 'c, d']], [[1], 'x', {}]],
  [
    'a list of limited length',
    { type: 'array', items: { type: 'integer' }, minItems: 1, maxItems: 2 },
    [[1], [1, 2]],
    [[], [1, 2, 3]],
  ],
  [
    'a list of lists',
    { type: 'array', items: { type: 'array', items: { type: 'boolean' } } },
    [[[true], []]],
    [[true]],
  ],
  [
    'an object',
    {
      type: 'object',
      properties: { a: { type: 'string' }, b: { type: 'integer' } },
      required: ['a'],
      additionalProperties: false,
    },
    [{ a: 'x' }, { a: 'x y', b: 1 }],
    [{}, { b: 1 }, { a: 1 }, { a: 'x', c: 1 }],
  ],
  [
    'an object in an object',
    {
      type: 'object',
      properties: { in: { type: 'object', properties: { deep: { type: 'null' } }, required: ['deep'] } },
      required: ['in'],
    },
    [{ in: { deep: null } }],
    [{ in: {} }, { in: 1 }],
  ],
];

describe.each(layouts)('the grammar of %s', (_name, { layout }) => {
  it.each(schemas)('holds a parameter to %s', (_kind, schema, good, bad) => {
    const tools = [toolWith(schema), other];
    for (const value of good)
      expect(isRequiredCall(layout, tools, written(layout, { v: value })), JSON.stringify(value)).toBe(true);
    // Between marks that do not tell strings from other values, all of them are strings.
    const isText = isUnmarked(layout) && /string/.test(String(Object(schema).type)) && !('maxLength' in schema);
    for (const value of isText ? [] : bad)
      expect(isRequiredCall(layout, tools, written(layout, { v: value })), JSON.stringify(value)).toBe(false);
  });

  it.each(schemas)('lets through only what is read as it was written: %s', (_kind, schema, good) => {
    const tools = [toolWith(schema), other];
    for (const value of good) {
      const text = written(layout, { v: value });
      const [call] = nativeFormat(layout).detect(text, { tools }).calls;
      expect(call && JSON.parse(stringifyJson(call.arguments)), text).toEqual({ v: value });
    }
  });

  it('rejects a call that is cut anywhere', () => {
    const tools = [toolWith({ type: 'array', items: { type: 'string' } }), other];
    const text = written(layout, { v: ['a', 'b c'] });
    for (let length = 0; length < text.length; length++) {
      expect(isRequiredCall(layout, tools, text.slice(0, length)), text.slice(0, length)).toBe(false);
    }
  });

  it('has only declared tools, and only the one that is chosen', () => {
    const tools = [toolWith({ type: 'integer' }), other];
    expect(isRequiredCall(layout, tools, written(layout, {}, 'use_more'))).toBe(true);
    expect(isRequiredCall(layout, tools, written(layout, {}, 'use_mor'))).toBe(false);
    expect(isRequiredCall(layout, tools, written(layout, { v: 1 }, 'use_more'))).toBe(false);
    const grammar = nativeFormat(layout).grammar?.(tools, { kind: 'tool', name: 'use' });
    expect(grammar?.kind === 'full' && fits(written(layout, { v: 1 }), grammar.rule)).toBe(true);
    expect(grammar?.kind === 'full' && fits(written(layout, {}, 'use_more'), grammar.rule)).toBe(false);
  });

  it('lets optional parameters be absent, and keeps the declared order', () => {
    const properties = { a: { type: 'integer' }, b: { type: 'string' }, c: { type: 'boolean' } };
    const tools = [createTool({ name: 'use', parameters: { type: 'object', properties, required: ['b'] } })];
    for (const args of [{ b: 'x' }, { a: 1, b: 'x' }, { b: 'x', c: true }, { a: 1, b: 'x', c: false }])
      expect(isRequiredCall(layout, tools, written(layout, args)), JSON.stringify(args)).toBe(true);
    for (const args of [{}, { a: 1 }, { c: true, b: 'x' }, { b: 'x', d: 1 }])
      expect(isRequiredCall(layout, tools, written(layout, args)), JSON.stringify(args)).toBe(false);
    const optional = [toolWith({ type: 'integer' }, [])];
    expect(isRequiredCall(layout, optional, written(layout, {}))).toBe(true);
    expect(isRequiredCall(layout, optional, written(layout, { v: 1 }))).toBe(true);
  });

  it('leaves text around a call free, and constrains each call in it', () => {
    const tools = [toolWith({ type: 'integer' }), other];
    const grammar = nativeFormat(layout).grammar?.(tools, { kind: 'auto' });
    if (!grammar) throw new Error('there is no grammar');
    const call = written(layout, { v: 1 });
    expect(acceptedCalls(`Well. ${call} And: ${call}`, grammar, defaultReplyMarks)).toHaveLength(2);
    expect(acceptedCalls('Only text, with <tags> and {"json": 1}.', grammar, defaultReplyMarks)).toEqual([]);
    expect(acceptedCalls(`Well. ${written(layout, { v: 'x' })}`, grammar, defaultReplyMarks)).toBeUndefined();
  });
});

describe('the grammar of native calls', () => {
  it('has no string of Python that reads as two', () => {
    const layout = nativeLayouts['python']?.layout;
    if (!layout) throw new Error('there is no layout of Python');
    const lets = (content: string): boolean =>
      isRequiredCall(layout, [toolWith({ type: 'string' })], written(layout, { v: 'Zq' }).replace('Zq', content));
    expect(['12" of rope', String.raw`12\" 'of' rope`].filter(lets)).toHaveLength(2);
    expect([`12" 'of' rope`, '12" + "of" rope'].filter(lets)).toEqual([]);
    // Bytes, or the spaces that the reader takes for white space.
    expect(['12" Bolt', '12" uncut', '12" F x', 'a "fur" x'].filter(lets)).toHaveLength(4);
    expect(['12" B', '12" rb', '12" B"C', '12"\u00a0', '12"\u2003"of'].filter(lets)).toEqual([]);
  });

  it.each(layouts)('tells what it cannot express of all tools: %s', (_, { layout }) => {
    const tools = ['use', 'use_more'].map((name) =>
      createTool({ name, parameters: { type: 'object', properties: { v: { not: { type: 'string' } } } } }),
    );
    const compile = (): unknown => nativeFormat(layout).grammar?.(tools, { kind: 'auto' });
    expect(compile).toThrow(/the tool "use": .*; the tool "use_more": /);
  });
});
