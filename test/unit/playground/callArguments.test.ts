import { describe, expect, it } from 'vitest';
import {
  argumentLine,
  jsonDoubt,
  outcomeSentence,
  shownArguments,
} from '../../../playground/src/conversation/callArguments.ts';

describe('the arguments of a call', () => {
  it('have a name, a value and a type', () => {
    const json = '{"name": "porch", "on": true, "level": 3, "ratio": 0.50, "none": null, "at": [1, 2], "to": {"x": 1}}';
    expect(shownArguments(json)).toEqual([
      { name: 'name', value: 'porch', type: 'string' },
      { name: 'on', value: 'true', type: 'boolean' },
      { name: 'level', value: '3', type: 'integer' },
      { name: 'ratio', value: '0.50', type: 'number' },
      { name: 'none', value: 'null', type: 'null' },
      { name: 'at', value: '[1, 2]', type: 'list' },
      { name: 'to', value: '{"x": 1}', type: 'object' },
    ]);
  });

  it('keep all digits of large numbers', () => {
    expect(shownArguments('{"id": 12345678901234567890}')).toMatchObject([{ value: '12345678901234567890' }]);
  });

  it.each(['', '[]', '"x"'])('are none in %o', (json) => {
    expect(shownArguments(json)).toEqual([]);
  });

  it('are in the sentence about the outcome', () => {
    const args = shownArguments('{"name": "porch", "on": true}');
    expect(argumentLine(args)).toBe('name: porch, on: true');
    expect(outcomeSentence('set_light', args)).toBe('(set_light with name: porch, on: true is done.)');
    expect(outcomeSentence('ring', [])).toBe('(ring is done.)');
  });
});

describe('a result', () => {
  it.each([
    ['18 degrees', false],
    ['', false],
    ['{"degrees": 18}', false],
    ['{"degrees": 18', true],
    ['[1, 2', true],
  ])('%o is doubted as JSON: %s', (content, doubted) => {
    expect(jsonDoubt(content) !== undefined).toBe(doubted);
  });
});
