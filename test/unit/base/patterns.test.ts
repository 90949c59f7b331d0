import { describe, expect, it } from 'vitest';
import { estimatePatternSize } from '../../../src/base/patterns.ts';

describe('the size of a pattern', () => {
  it.each([
    ['', 0],
    ['abc', 3],
    ['\\d\\.\\p{Greek}\\pL', 22],
    ['[a-z][^0-9][[:alpha:]][]a]', 13],
    ['a{100}', 100],
    ['ab{2,100}c', 102],
    ['(?:ab){10}', 50],
    ['(?P<name>ab){10}(?i)', 111],
    ['\\x{4e00}{10}\\x41', 11],
    ['\\Qa(b\\E(', 8],
    ['((a{10}){10}){10}', 1110],
    ['a{2}{3}', 6],
    ['a{,3}', 5],
    ['[{]{3}', 3],
    ['\\{3}', 3],
    ['a{5000}', 1],
    ['((((', 4],
    ['))))', 0],
  ])('%j is about %d', (pattern, size) => {
    expect(estimatePatternSize(pattern)).toBe(size);
  });
});
