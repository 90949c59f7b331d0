import { describe, expect, it } from 'vitest';
import { isGrounded, collectMentions } from '../../../../src/tools/validate/grounding.ts';
import { parseArguments } from '../../../helpers/toolCalls.ts';

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

  it('includes earlier messages', () => {
    expect(grounded('Ada', 'I am Ada', 'send it to me')).toBe(true);
  });

  it('does not combine words of different messages', () => {
    expect(grounded('Ada Lovelace', 'I am Ada', 'not Lovelace')).toBe(false);
  });
});
