import { describe, expect, it } from 'vitest';
import { compilePatterns } from '../../../src/storage/patternSet.ts';

const neverAborted = new AbortController().signal;
const indexIn = async (list: readonly string[], text: string): Promise<number | undefined> => {
  const reading = await compilePatterns(list);
  if (!reading.ok) throw new Error(JSON.stringify(reading.errors));
  return reading.value.match(text, neverAborted);
};

describe('a list of patterns', () => {
  it('finds the first that matches, at any index', async () => {
    const list = Array.from({ length: 50 }, (_, index) => `word${index}x`);
    expect(await indexIn(list, 'say WORD37x, not word44x')).toBe(37);
    expect(await indexIn(list, 'word3')).toBeUndefined();
    expect(await indexIn([], 'word3')).toBeUndefined();
  });

  it('is rejected with the location of every invalid pattern', async () => {
    const reading = await compilePatterns([...Array.from({ length: 30 }, () => 'fine'), 'b(?=x)', 'c(']);
    expect(!reading.ok && reading.errors.map(({ pointer }) => pointer)).toEqual(['/30', '/31']);
  });

  it('may be larger than one automaton', async () => {
    const letters = Array.from({ length: 100 }, (_, index) => String.fromCodePoint(0x4e00 + index)).join('');
    const large = Array.from({ length: 15 }, () => `(?:${letters}){1000}`);
    expect(await indexIn([...large, 'small'], 'a small word')).toBe(15);
  });
});
