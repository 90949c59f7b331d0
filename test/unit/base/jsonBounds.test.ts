import { describe, expect, it } from 'vitest';
import { findJsonExcess } from '../../../src/base/jsonBounds.ts';

describe('a JSON text', () => {
  const nested = (levels: number): string => '[{"a":'.repeat(levels / 2) + '1' + '}]'.repeat(levels / 2);

  it('nests 500 levels deep, and no deeper', () => {
    const texts = [nested(500), nested(502), '['.repeat(900_000), `[${'[],{},'.repeat(1000)}0]`];
    expect(texts.map((text) => findJsonExcess(text))).toEqual([undefined, 'levels', 'levels', undefined]);
  });

  it('has so many values, of lists and objects', () => {
    expect([6, 5].map((values) => findJsonExcess('[[1,2],{"a":[]}]', values))).toEqual([undefined, 'values']);
    expect(findJsonExcess('["a,b,c,[{", 1]', 2)).toBeUndefined();
  });

  it('has brackets in its strings, also behind escaped quotes', () => {
    const inString = JSON.stringify(`\\"${'['.repeat(600)}\\`);
    const texts = [`[${inString},${inString}]`, `[${inString},${'['.repeat(600)}`, `"${'['.repeat(600)}`];
    expect(texts.map((text) => findJsonExcess(text))).toEqual([undefined, 'levels', undefined]);
  });
});
