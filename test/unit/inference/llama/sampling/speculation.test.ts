import type { Token } from 'node-llama-cpp';
import { describe, expect, it } from 'vitest';
import { draftFrom } from '../../../../../src/inference/llama/sampling/decodeLoop.ts';

/** One token for each character. */
const tokens = (text: string): Token[] => Array.from(text, (character) => character.charCodeAt(0) as Token);
const draft = (text: string, { minMatch = 1, maxTokens = 100 } = {}): string =>
  String.fromCharCode(...draftFrom(tokens(text), minMatch, maxTokens));

describe('a draft', () => {
  it.each([
    ['is empty without tokens', '', ''],
    ['is empty where the last token is new', 'abcd', ''],
    ['is what followed the last token', 'abcd-a', 'bc'],
    ['is what followed where most of the last tokens are repeated', 'xab12 yab34 zyab', '34'],
    ['is empty where the longest repetitions go on in different ways', 'xab12 yab34 zab', ''],
    ['is what follows the latest of equal repetitions', 'ab12 ab13 ab', '13'],
    ['ends with the context', 'abab', 'ab'],
    ['repeats one token that was repeated', 'aa', 'a'],
    ['is longer after a long repetition', '12345678abcdefgh-12345678', 'abcd'],
    [
      'grows no more after a very long repetition',
      `${'0123456789ABCDEFGHIJ'}abcdefghijkl-0123456789ABCDEFGHIJ`,
      'abcdefgh',
    ],
  ])('%s', (_, text, expected) => expect(draft(text)).toBe(expected));

  it('has at most as many tokens as there is room for', () => {
    expect(draft('abcd-a', { maxTokens: 1 })).toBe('b');
    expect(draft('abcd-a', { maxTokens: 0 })).toBe('');
    expect(draft('abcd-a', { maxTokens: -3 })).toBe('');
  });

  it('is empty where fewer tokens are repeated than wanted', () => {
    expect(draft('abcd-a', { minMatch: 2 })).toBe('');
    expect(draft('abcd-ab', { minMatch: 2 })).toBe('cd');
  });
});
