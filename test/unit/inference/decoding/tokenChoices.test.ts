import type { Token } from 'node-llama-cpp';
import { describe, expect, it } from 'vitest';
import { closeChoice, mayBeginCall, openChoice } from '../../../../src/inference/decoding/tokenChoices.ts';

const texts = ['yes', 'no', 'maybe', 'other', '', 'nobody', 'n'];
const [yes, no, maybe, other, silent, nobody, n] = [...texts.keys()] as unknown as readonly [
  Token,
  Token,
  Token,
  Token,
  Token,
  Token,
  Token,
];
const candidates = new Map([
  [yes, 0.6],
  [no, 0.2],
  [maybe, 0.1],
]);

/** Of a token that is chosen after "So ". What follows it in the text: `rest`. */
function probability(
  of: ReadonlyMap<Token, number>,
  chosen: Token,
  allows?: (token: Token) => boolean,
  rest = '',
): number {
  const textOf = (token: Token): string => texts[token] ?? '';
  const choice = openChoice(of, chosen, textOf, allows);
  return closeChoice({ start: 3, end: 3 + textOf(chosen).length, ...choice }, `So ${textOf(chosen)}${rest}`)
    .probability;
}

describe('the probability of a chosen token', () => {
  it('is its own without a grammar', () => {
    expect(probability(candidates, no)).toBe(0.2);
  });

  it('is its share of what the grammar allows', () => {
    expect(probability(candidates, no, (token) => token === maybe)).toBeCloseTo(2 / 3);
    expect(probability(candidates, no, () => false)).toBe(1);
  });

  it('is low if the model would have written what the grammar does not allow', () => {
    expect(probability(candidates, other)).toBe(0.1);
    expect(probability(candidates, other, () => false)).toBe(0.5);
    expect(probability(new Map([...candidates, [other, 0.01]]), other, () => false)).toBeCloseTo(1 / 11);
  });

  it('has that of other tokens with the same text', () => {
    const several = new Map([...candidates, [n, 0.05], [nobody, 0.04], [silent, 0.01]]);
    expect(probability(several, no)).toBeCloseTo(0.25);
    expect(probability(several, no, undefined, 'body')).toBeCloseTo(0.29);
    expect(probability(several, no, (token) => token !== yes, 'body')).toBeCloseTo(0.29 / 0.4);
    expect(probability(new Map([...candidates, [n, 0.9]]), no)).toBe(1);
  });
});

it('tells by its signs that a text may have begun a call', () => {
  expect(['Well', 'Well <tool', 'Action:', `(${'a'.repeat(1000)}`].map(mayBeginCall)).toEqual([
    false,
    true,
    true,
    false,
  ]);
});
