import { describe, expect, it } from 'vitest';
import { compare, type ModelAnswer, type Outcome } from '../../scripts/evals/tools/compare.mjs';
import { categories, readItems, type ExpectedCall, type Item } from '../../scripts/evals/tools/items.mjs';
import { findCallProblems, toTool } from '../helpers/evalItems.ts';

const items = await readItems();
const itemsOf = (category: string): readonly Item[] => items.filter((item) => item.category === category);

describe('the items of the evaluation', () => {
  it.each(categories)('are at least 40 of category %s', (category) => {
    expect(itemsOf(category).length).toBeGreaterThanOrEqual(40);
  });

  it('have unique ids and messages', () => {
    expect(new Set(items.map(({ id }) => id)).size).toBe(items.length);
    expect(new Set(items.map(({ message }) => message.trim())).size).toBe(items.length);
    expect(items.filter(({ id, message }) => !/^[a-zA-Z]+(?:-[a-z]+)+$/.test(id) || message.trim() === '')).toEqual([]);
  });

  it('have valid tools with unique names', () => {
    for (const { id, tools } of items) {
      const names = tools.map((tool) => toTool(tool).name);
      expect(new Set(names).size, id).toBe(names.length);
    }
  });

  it('expect only calls of their tools with valid arguments', () => {
    const faults = items.flatMap(({ id, tools, calls }) =>
      calls.flatMap((call) => findCallProblems(call, tools.map(toTool))).map((fault) => `${id}: ${fault}`),
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
  ])('fit the category %s', (category, fitsCategory) => {
    expect(
      itemsOf(category)
        .filter((item) => !fitsCategory(item))
        .map(({ id }) => id),
    ).toEqual([]);
  });

  it('score exact for their expected calls', () => {
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
    ['with the expected values', 'exact', [lamp], { calls: [call('lamp', { room: 'hall', percent: 50 })] }],
    ['with another allowed value', 'exact', [lamp], { calls: [call('lamp', { room: 'the hall' })] }],
    ['that differs in case and punctuation', 'exact', [lamp], { calls: [call('lamp', { room: ' "The-Hall!" ' })] }],
    ['with null for an optional argument', 'exact', [lamp], { calls: [call('lamp', { room: 'hall', percent: null })] }],
    ['with another notation of a number', 'exact', [lamp], { calls: [call('lamp', { room: 'hall', percent: 5e1 })] }],
    ['with a list in another case', 'exact', [list], { calls: [call('pack', { things: ['tent', 'Stove'] })] }],
    ['with a list in another order', 'wrong', [list], { calls: [call('pack', { things: ['stove', 'tent'] })] }],
    ['with a shorter list', 'wrong', [list], { calls: [call('pack', { things: ['tent'] })] }],
    ['with another value', 'wrong', [lamp], { calls: [call('lamp', { room: 'bath' })] }],
    ['with a number as text', 'wrong', [lamp], { calls: [call('lamp', { room: 'hall', percent: '50' })] }],
    ['with nothing but punctuation', 'wrong', [lamp], { calls: [call('lamp', { room: '?!' })] }],
    ['without a required argument', 'wrong', [lamp], { calls: [call('lamp', { percent: 50 })] }],
    ['with an unexpected argument', 'wrong', [lamp], { calls: [call('lamp', { room: 'hall', color: 'red' })] }],
    ['with another name', 'wrong', [lamp], { calls: [call('lamps', { room: 'hall' })] }],
    [
      'with its calls in another order',
      'exact',
      [lamp, list],
      { calls: [call('pack', { things: ['tent', 'stove'] }), call('lamp', { room: 'hall' })] },
    ],
    [
      'with a call that fits two expected calls',
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
    ['in plain text when a call is expected', 'missed', [lamp], { calls: [], text: 'The hall is dark.' }],
    ['with a tag but no call', 'decodeFailure', [lamp], { calls: [], text: '<tool_call>\nlamp\n</tool_call>' }],
    ['with half a call', 'decodeFailure', [lamp], { calls: [], text: '{"name": "lamp", "argum' }],
    ['that the server reports as truncated', 'decodeFailure', [lamp], { calls: [], text: '', truncated: true }],
    ['with half a call when none is expected', 'decodeFailure', [], { calls: [], text: '[TOOL_CALLS] [{"na' }],
    ['with a call when none is expected', 'falseCall', [], { calls: [call('lamp')] }],
    ['in plain text when no call is expected', 'exact', [], { calls: [], text: 'The {moon} is far away.' }],
  ])('%s is scored as %s', (_, outcome, expectsCall, answer) => {
    expect(compare(expectsCall, answer)).toBe(outcome);
  });
});
