import { describe, expect, it } from 'vitest';
import { compare, type ModelAnswer, type Outcome } from '../../scripts/evals/tools/compare.mjs';
import { categories, readItems, type ExpectedCall, type Item } from '../../scripts/evals/tools/items.mjs';
import { createReader } from '../../src/schema.ts';
import { readTool, toolSchema, type Tool } from '../../src/tools/tool.ts';

const items = await readItems();
const of = (category: string): readonly Item[] => items.filter((item) => item.category === category);
const readDeclaration = createReader(toolSchema);

/** The tool of a declaration, as a server reads it. */
function toolOf(declaration: unknown): Tool {
  const checked = readDeclaration(declaration);
  const reading = checked.ok ? readTool(checked.value) : checked;
  if (!reading.ok) throw new Error(JSON.stringify(reading.errors));
  return reading.value;
}

const fits: Readonly<Record<string, (value: unknown, items?: unknown) => boolean>> = {
  string: (value) => typeof value === 'string',
  integer: Number.isInteger,
  number: (value) => typeof value === 'number',
  boolean: (value) => typeof value === 'boolean',
  array: (value, element) =>
    Array.isArray(value) && value.every((one) => fits[(element as { readonly type: string }).type]?.(one)),
};

/** What is wrong with a call that an item expects. */
function faultsOf({ name, arguments: args }: ExpectedCall, tools: readonly Tool[]): string[] {
  const tool = tools.find((one) => one.name === name);
  if (!tool) return [`${name} is not on offer`];
  const { properties = {}, required = [] } = tool.parameters;
  const missing = required.filter((param) => !Object.hasOwn(args, param));
  const wrong = Object.entries(args).flatMap(([param, allowed]) => {
    const schema = properties[param];
    if (!schema) return [`${name}.${param} is not declared`];
    if (allowed.length === 0) return [`${name}.${param} allows nothing`];
    const strangers = allowed.filter((value) => {
      if (value === null) return required.includes(param);
      if (!fits[schema.type ?? '']?.(value, schema['items'])) return true;
      const values = schema['enum'] as readonly unknown[] | undefined;
      return values !== undefined && !values.includes(value);
    });
    return strangers.map((value) => `${name}.${param} cannot be ${JSON.stringify(value)}`);
  });
  return [...missing.map((param) => `${name}.${param} is required`), ...wrong];
}

describe('the items of the evaluation', () => {
  it.each(categories)('are at least 40 in %s', (category) => {
    expect(of(category).length).toBeGreaterThanOrEqual(40);
  });

  it('have ids and messages of their own', () => {
    expect(new Set(items.map(({ id }) => id)).size).toBe(items.length);
    expect(new Set(items.map(({ message }) => message.trim())).size).toBe(items.length);
    expect(items.filter(({ id, message }) => !/^[a-zA-Z]+(?:-[a-z]+)+$/.test(id) || message.trim() === '')).toEqual([]);
  });

  it('offer tools that a server accepts, each once', () => {
    for (const { id, tools } of items) {
      const names = tools.map((tool) => toolOf(tool).name);
      expect(new Set(names).size, id).toBe(names.length);
    }
  });

  it('expect calls of tools on offer, with declared arguments of the right types', () => {
    const faults = items.flatMap(({ id, tools, calls }) =>
      calls.flatMap((call) => faultsOf(call, tools.map(toolOf))).map((fault) => `${id}: ${fault}`),
    );
    expect(faults).toEqual([]);
  });

  it.each<[string, (item: Item) => boolean]>([
    ['simple', ({ tools, calls }) => tools.length === 1 && calls.length === 1],
    ['multiple', ({ tools, calls }) => tools.length >= 2 && tools.length <= 4 && calls.length === 1],
    ['parallel', ({ tools, calls }) => tools.length === 1 && (calls.length === 2 || calls.length === 3)],
    [
      'parallelMultiple',
      ({ tools, calls }) =>
        tools.length >= 2 &&
        (calls.length === 2 || calls.length === 3) &&
        new Set(calls.map(({ name }) => name)).size === calls.length,
    ],
    ['irrelevance', ({ tools, calls }) => tools.length >= 1 && calls.length === 0],
  ])('are what %s says', (category, isSo) => {
    expect(
      of(category)
        .filter((item) => !isSo(item))
        .map(({ id }) => id),
    ).toEqual([]);
  });

  it('are met by the calls that they expect', () => {
    const first = (call: ExpectedCall) => ({
      name: call.name,
      arguments: Object.fromEntries(
        Object.entries(call.arguments).flatMap(([param, [value]]) => (value === null ? [] : [[param, value]])),
      ),
    });
    const unmet = items.filter(({ calls }) => compare(calls, { calls: calls.map(first) }) !== 'exact');
    expect(unmet.map(({ id }) => id)).toEqual([]);
  });
});

describe('an answer', () => {
  const lamp: ExpectedCall = { name: 'lamp', arguments: { room: ['hall', 'the hall'], percent: [50, null] } };
  const attic: ExpectedCall = { name: 'lamp', arguments: { room: ['attic', 'hall'] } };
  const list: ExpectedCall = { name: 'pack', arguments: { things: [['Tent', 'stove']] } };
  const call = (name: string, args: object = {}) => ({ name, arguments: args as Readonly<Record<string, unknown>> });

  it.each<[string, Outcome, readonly ExpectedCall[], ModelAnswer]>([
    ['with the values that are due', 'exact', [lamp], { calls: [call('lamp', { room: 'hall', percent: 50 })] }],
    ['with another allowed value', 'exact', [lamp], { calls: [call('lamp', { room: 'the hall' })] }],
    ['that differs in case and punctuation', 'exact', [lamp], { calls: [call('lamp', { room: ' "The-Hall!" ' })] }],
    ['with null where absent will do', 'exact', [lamp], { calls: [call('lamp', { room: 'hall', percent: null })] }],
    ['with a number written otherwise', 'exact', [lamp], { calls: [call('lamp', { room: 'hall', percent: 5e1 })] }],
    ['with a list in another case', 'exact', [list], { calls: [call('pack', { things: ['tent', 'Stove'] })] }],
    ['with a list in another order', 'wrong', [list], { calls: [call('pack', { things: ['stove', 'tent'] })] }],
    ['with a shorter list', 'wrong', [list], { calls: [call('pack', { things: ['tent'] })] }],
    ['with another value', 'wrong', [lamp], { calls: [call('lamp', { room: 'bath' })] }],
    ['with a number as text', 'wrong', [lamp], { calls: [call('lamp', { room: 'hall', percent: '50' })] }],
    ['with nothing but punctuation', 'wrong', [lamp], { calls: [call('lamp', { room: '?!' })] }],
    ['without a required argument', 'wrong', [lamp], { calls: [call('lamp', { percent: 50 })] }],
    ['with an argument that is not due', 'wrong', [lamp], { calls: [call('lamp', { room: 'hall', color: 'red' })] }],
    ['with another name', 'wrong', [lamp], { calls: [call('lamps', { room: 'hall' })] }],
    [
      'with its calls in another order',
      'exact',
      [lamp, list],
      { calls: [call('pack', { things: ['tent', 'stove'] }), call('lamp', { room: 'hall' })] },
    ],
    [
      'with a call that could stand for either of two',
      'exact',
      [attic, lamp],
      { calls: [call('lamp', { room: 'hall' }), call('lamp', { room: 'attic' })] },
    ],
    [
      'with one call twice',
      'wrong',
      [lamp, list],
      { calls: [call('lamp', { room: 'hall' }), call('lamp', { room: 'hall' })] },
    ],
    ['with fewer calls', 'wrongCount', [lamp, list], { calls: [call('lamp', { room: 'hall' })] }],
    [
      'with more calls',
      'wrongCount',
      [lamp],
      { calls: [call('lamp', { room: 'hall' }), call('lamp', { room: 'attic' })] },
    ],
    ['in words where a call is due', 'missed', [lamp], { calls: [], text: 'The hall is dark.' }],
    ['with a tag and no call', 'decodeFailure', [lamp], { calls: [], text: '<tool_call>\nlamp\n</tool_call>' }],
    ['with half a call', 'decodeFailure', [lamp], { calls: [], text: '{"name": "lamp", "argum' }],
    ['that the server says was cut off', 'decodeFailure', [lamp], { calls: [], text: '', truncated: true }],
    ['with half a call where none is due', 'decodeFailure', [], { calls: [], text: '[TOOL_CALLS] [{"na' }],
    ['with a call where none is due', 'falseCall', [], { calls: [call('lamp')] }],
    ['in words where none is due', 'exact', [], { calls: [], text: 'The {moon} is far away.' }],
  ])('%s counts as it should', (_, outcome, expectsCall, heard) => {
    expect(compare(expectsCall, heard)).toBe(outcome);
  });
});
