import { describe, expect, it } from 'vitest';
import { isTooDeep } from '../../../src/base/jsonDepth.ts';

describe('a JSON text', () => {
  const nested = (levels: number): string => '[{"a":'.repeat(levels / 2) + '1' + '}]'.repeat(levels / 2);

  it('nests 500 levels deep, and no deeper', () => {
    expect([nested(500), nested(502), '['.repeat(900_000)].map(isTooDeep)).toEqual([false, true, true]);
    expect(isTooDeep(`[${'[],{},'.repeat(1000)}0]`)).toBe(false);
  });

  it('has brackets in its strings, also behind escaped quotes', () => {
    const inString = JSON.stringify(`\\"${'['.repeat(600)}\\`);
    expect(isTooDeep(`[${inString},${inString}]`)).toBe(false);
    expect(isTooDeep(`[${inString},${'['.repeat(600)}`)).toBe(true);
    expect(isTooDeep(`"${'['.repeat(600)}`)).toBe(false);
  });
});
