import { describe, expect, it } from 'vitest';
import { toGbnf } from '../../../../src/chat/grammar/gbnf.ts';
import { GrammarMatcher } from '../../../../src/chat/grammar/matcher.ts';
import { char } from '../../../../src/chat/grammar/rule.ts';
import { objectSchema, ruleFor } from '../../../helpers/grammarRules.ts';

const range = (count: number): readonly number[] => Array.from({ length: count }, (_, index) => index);
const properties = (count: number): object =>
  Object.fromEntries(range(count).map((index) => [`p${1000 + index}`, { type: 'string' }]));
const gbnfAfter = (text: string, schema: object): string => {
  const { matcher, length } = GrammarMatcher.start(ruleFor(schema)).accept(text);
  expect(length).toBe(text.length);
  return toGbnf(matcher);
};

describe('a grammar in GBNF', () => {
  it('has ranges of characters beyond 16 bits', () => {
    const { matcher } = GrammarMatcher.start(char('a-z', '\u{1F600}-\u{1F64F}')).accept('');
    expect(toGbnf(matcher)).toBe(String.raw`root ::= [\U00000061-\U0000007a\U0001f600-\U0001f64f]`);
  });

  it.each([
    ['at the start', ''],
    ['before the first member', '{'],
    ['between two members', '{"p1003": "x"'],
    ['in a key', '{"p'],
  ])('is linear in the optional members of an object, %s', (_, text) => {
    const [once, twice] = [100, 200].map((count) => gbnfAfter(text, objectSchema(properties(count), [])).length);
    expect(Number(twice) / Number(once)).toBeLessThan(2.2);
  });

  it('is linear in optional members that are followed by required ones', () => {
    const [once, twice] = [100, 200].map((count) => {
      const members = { ...properties(count), last: { type: 'integer' } };
      return gbnfAfter('{', objectSchema(members, ['p1050', 'last'])).length;
    });
    expect(Number(twice) / Number(once)).toBeLessThan(2.2);
  });

  it('is linear in the alternatives that have the same rest', () => {
    const schema = (count: number): object => ({
      type: 'array',
      items: objectSchema({
        a: objectSchema({ b: { anyOf: range(count).map((index) => ({ minimum: 10 * index, type: 'integer' })) } }),
      }),
    });
    const [once, twice] = [50, 100].map((count) => gbnfAfter('[{"a": {"b": ', schema(count)).length);
    expect(Number(twice) / Number(once)).toBeLessThan(2.5);
  });

  it('has one alternative for each character that may come next, however many values there are', () => {
    const values = range(500).map((index) => `${index % 2 === 0 ? 'left' : 'right'} ${1000 + index}`);
    for (const gbnf of [gbnfAfter('"', { enum: values }), gbnfAfter('', { type: 'array', items: { enum: values } })]) {
      expect(gbnf.match(/left|right/g)).toEqual(['left', 'right']);
    }
  });
});
