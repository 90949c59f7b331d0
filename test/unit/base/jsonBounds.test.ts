import { describe, expect, it } from 'vitest';
import { findJsonExcess } from '../../../src/base/jsonBounds.ts';

const isExcess = (text: string): boolean => findJsonExcess(text) !== undefined;

describe('a JSON text', () => {
  const nested = (levels: number): string => '[{"a":'.repeat(levels / 2) + '1' + '}]'.repeat(levels / 2);

  it('nests 500 levels deep, and no deeper', () => {
    expect([nested(500), nested(502), '['.repeat(900_000)].map(isExcess)).toEqual([false, true, true]);
    expect(isExcess(`[${'[],{},'.repeat(1000)}0]`)).toBe(false);
  });

  it('has so many values, of lists and objects', () => {
    expect(findJsonExcess('[[1,2],{"a":[]}]', 6)).toBeUndefined();
    expect(findJsonExcess('[[1,2],{"a":[]}]', 5)).toBe('has more than 5 values; send less');
    expect(findJsonExcess('["a,b,c,[{", 1]', 2)).toBeUndefined();
  });

  it('has brackets in its strings, also behind escaped quotes', () => {
    const inString = JSON.stringify(`\\"${'['.repeat(600)}\\`);
    expect(isExcess(`[${inString},${inString}]`)).toBe(false);
    expect(isExcess(`[${inString},${'['.repeat(600)}`)).toBe(true);
    expect(isExcess(`"${'['.repeat(600)}`)).toBe(false);
  });
});
