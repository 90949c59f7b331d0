import type { Token } from 'node-llama-cpp';
import { describe, expect, it } from 'vitest';
import { choiceProbability, mayBeginCall } from '../../../../src/inference/decoding/tokenChoices.ts';

const [yes, no, maybe, other] = [1, 2, 3, 4] as unknown as readonly [Token, Token, Token, Token];
const candidates = new Map([
  [yes, 0.6],
  [no, 0.2],
  [maybe, 0.1],
]);

describe('the probability of a chosen token', () => {
  it('is its own without a grammar', () => {
    expect(choiceProbability(candidates, no, undefined)).toBe(0.2);
  });

  it('is its share of what the grammar allows', () => {
    expect(choiceProbability(candidates, no, (token) => token === maybe)).toBeCloseTo(2 / 3);
    expect(choiceProbability(candidates, no, () => false)).toBe(1);
  });

  it('is low if the model would have written what the grammar does not allow', () => {
    expect(choiceProbability(candidates, other, undefined)).toBe(0.1);
    expect(choiceProbability(candidates, other, () => false)).toBe(0.5);
    expect(choiceProbability(new Map([...candidates, [other, 0.01]]), other, () => false)).toBeCloseTo(1 / 11);
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
