import { describe, expect, it, vi } from 'vitest';
import { isGrounded, collectMentions, isRefusal, saidWords } from '../../../../../src/chat/tools/validate/grounding.ts';
import { parseArguments } from '../../../../helpers/toolCalls.ts';

describe('the grounding of a value', () => {
  const grounded = (value: unknown, ...messages: string[]): boolean => {
    const members = parseArguments({ value });
    return isGrounded(members.get('value') ?? null, collectMentions(messages));
  };

  it.each<[unknown, string, boolean]>([
    ['porch', 'Turn on the PORCH light', true],
    ['porch light', 'the light on the porch', true],
    ['Zürich', 'weather in zürich?', true],
    ['kitchen', 'turn on the porch light', false],
    ['art', 'start the car', false],
    ['日本', 'ニュース 日本 です', true],
    [500, 'transfer 500 to my friend', true],
    [500, 'transfer 1,500 to my friend', false],
    [1500, 'transfer 1,500 to my friend', true],
    [1.5, 'one and a half, 1,5 litres', true],
    [2, 'give me two apples', true],
    [25, 'twenty-five of them', true],
    [200, 'two hundred', true],
    [3, 'give me two apples', false],
    ['500', 'transfer 500', true],
    ['2026-11-21', 'on 21 November 2026', true],
    ['2026-11-21', 'on November 21st', true],
    ['2026-11-21', 'on 11/21/2026', true],
    ['2026-11-21', 'on 21.11.', true],
    ['2026-11-21', 'tomorrow please', true],
    ['2026-11-21', 'on 22 November 2026', false],
    [true, 'lights please', true],
    [['apples', 'bread'], 'apples and bread', true],
    [['apples', 'cheese'], 'apples and bread', false],
    [{ city: 'Oban' }, 'the tide in Oban', true],
    [3, 'give me 2-3 apples', true],
    [5, 'open gate-5', true],
    [-5, 'open gate-5', false],
    [-5, 'set it to -5 degrees', true],
  ])('of %j in "%s" is %s', (value, messages, expected) => {
    expect(grounded(value, messages)).toBe(expected);
  });

  it.each<[number, string, boolean]>([
    [12, 'a dozen eggs', true],
    [1, 'a dozen eggs', false],
    [24, 'two dozen eggs', true],
    [36, '3 dozen eggs', true],
    [6, 'half a dozen eggs', true],
    [12, 'half a dozen eggs', false],
    [2, 'a pair of boots', true],
    [2, 'a couple of beers', true],
    [4, 'two pairs of boots', true],
    [2, 'two pairs of boots', true],
    [2, 'ring it twice', true],
    [2, 'take both', true],
    [1, 'a single coin', true],
    [1, 'I want it at once', false],
    [300, 'three hundred coins', true],
    [325, 'three hundred and twenty-five', true],
    [2500, 'two thousand five hundred', true],
    [2005, 'two thousand and five', true],
    [100, 'a hundred', true],
    [1200, 'twelve hundred', true],
    [1_250_000, 'one million two hundred and fifty thousand', true],
    [7, 'five and two', false],
    [25, 'twenty, no, thirty five', false],
    [11, 'nine one one', false],
  ])('knows quantities in words: %d in %j: %s', (value, message, expected) => {
    expect(grounded(value, message)).toBe(expected);
  });

  it.each([
    ['give me an axe', true],
    ['a room, please', true],
    ['a few coins', false],
    ['a hundred coins', false],
    ['wait a bit', false],
    ['coins, please', false],
  ])('takes the article of %j as 1: %s, but only for a count', (message, expected) => {
    const one = parseArguments({ value: 1 }).get('value') ?? null;
    expect(isGrounded(one, collectMentions([message]), true)).toBe(expected);
    expect(isGrounded(one, collectMentions([message]), false)).toBe(false);
  });

  it('looks at the newest messages only, so that its work does not grow with the dialog', () => {
    const old = Array.from({ length: 1000 }, () => 'some old words '.repeat(10));
    expect(grounded('porch', 'the porch', ...old)).toBe(false);
    expect(grounded('porch', ...old, 'the porch', 'and more')).toBe(true);
    expect(grounded('porch', 'old', `porch ${'x '.repeat(100_000)}`)).toBe(true);
  });

  it('normalizes at most 30 marks of a letter, because the time is that of their square', () => {
    const normalize = vi.spyOn(String.prototype, 'normalize');
    expect(grounded('porch', `a${'\u0301\u0323'.repeat(1000)} porch`)).toBe(true);
    const runs = normalize.mock.contexts.flatMap((text) => String(text).match(/\p{M}+/gu) ?? []);
    normalize.mockRestore();
    expect(Math.max(...runs.map(({ length }) => length))).toBe(30);
  });

  it('includes earlier messages', () => {
    expect(grounded('Ada', 'I am Ada', 'send it to me')).toBe(true);
  });

  it('does not combine words of different messages', () => {
    expect(grounded('Ada Lovelace', 'I am Ada', 'not Lovelace')).toBe(false);
  });
});

describe('a message with many number words', () => {
  it('has as many numbers as it has words, not the square of them', () => {
    const message = 'one thousand '.repeat(5000);
    expect(collectMentions([message]).numbers).toEqual(new Set([1, 1000, 1001]));
    expect(saidWords(message).take(parseArguments({ n: 1000 }).get('n') ?? null)).toBe(true);
  });
});

it.each(['No.', 'Never mind!', 'Oh no, forget it, please', 'no thanks', 'Cancel that.', "Don't."])(
  '"%s" is a refusal',
  (message) => expect(isRefusal(message)).toBe(true),
);

it.each(['No, to Bob.', 'Stop at the inn.', 'Not Ada.', 'Now.', '', 'Cancel my order 5.'])(
  '"%s" says more than a refusal',
  (message) => expect(isRefusal(message)).toBe(false),
);
