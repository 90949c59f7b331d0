import { describe, expect, it } from 'vitest';
import { compileEntryPatterns } from '../../../../src/graph/nodes/stringParams.ts';

const context = { limits: { maxTools: 64, maxPatterns: 3 }, setMade: () => undefined };
const { signal } = new AbortController();
const compile = (entries: readonly { readonly patterns?: readonly string[] }[]) =>
  compileEntryPatterns('/labels', entries, 'forms', context);

describe('the patterns of the entries of a list', () => {
  it('match each for itself, and an entry without patterns never does', async () => {
    const matchers = await compile([{ patterns: ['\\bbuy\\b', 'how much'] }, {}, { patterns: [] }]);
    const matches = await Promise.all(matchers.map((matcher) => matcher.match('How much is it?', signal)));
    expect(matches).toEqual([1, undefined, undefined]);
  });

  it('are refused with the place of each', async () => {
    await expect(compile([{ patterns: ['a('] }, { patterns: ['b', '(?=c)'] }])).rejects.toMatchObject({
      errors: [{ pointer: '/labels/0/patterns/0' }, { pointer: '/labels/1/patterns/1' }],
    });
  });

  it('are refused together with what else is wrong with the entries', async () => {
    const error = { pointer: '/labels/1/name', message: 'is missing' };
    const refusal = (patterns: readonly string[]) =>
      compileEntryPatterns('/labels', [{ patterns }], 'forms', context, [error]).catch((thrown: unknown) => thrown);
    expect(await refusal(['fine'])).toMatchObject({ errors: [error] });
    expect(await refusal(['('])).toMatchObject({ errors: [error, { pointer: '/labels/0/patterns/0' }] });
    expect(await refusal(['a', 'b', 'c', 'd'])).toMatchObject({ errors: [error, { pointer: '/labels' }] });
  });

  it('are limited in their number in all', async () => {
    await expect(compile([{ patterns: ['a', 'b'] }, { patterns: ['c', 'd'] }])).rejects.toMatchObject({
      errors: [{ pointer: '/labels', message: 'has 4 patterns in all, and 3 are allowed', code: 'LIMIT_EXCEEDED' }],
    });
  });

  it('are limited in their size in all, whichever entries have them', async () => {
    const large = (letter: string) => ({ patterns: [`${letter}{1000}`.repeat(18)] });
    const entries = (count: number) => [...'abcdefghijklmnopqr'].slice(0, count).map(large);
    const compileMany = (count: number) =>
      compileEntryPatterns('/labels', entries(count), 'forms', {
        ...context,
        limits: { maxTools: 1, maxPatterns: 99 },
      });
    await expect(compileMany(17)).rejects.toMatchObject({
      errors: [
        {
          pointer: '/labels',
          message: expect.stringContaining('300000 are allowed') as unknown,
          code: 'LIMIT_EXCEEDED',
        },
      ],
    });
    expect(await compileMany(3)).toHaveLength(3);
  });
});
