import { describe, expect, it } from 'vitest';
import { coalesced } from '../../../src/base/coalesced.ts';

describe('a coalesced function', () => {
  it('runs once for all who ask at the same time, and once more for those who ask during the run', async () => {
    const ends: ((result: string) => void)[] = [];
    const read = coalesced(() => new Promise<string>((resolve) => ends.push(resolve)));
    const first = [read(), read()];
    await Promise.resolve();
    const later = [read(), read(), read()];
    ends[0]?.('old');
    expect(await Promise.all(first)).toEqual(['old', 'old']);
    await Promise.resolve();
    ends[1]?.('new');
    expect(await Promise.all(later)).toEqual(['new', 'new', 'new']);
    expect(ends).toHaveLength(2);
  });

  it('runs again after a run that failed', async () => {
    const results = [Promise.reject(new Error('the disk is full')), Promise.resolve('read')];
    const read = coalesced(() => results.shift() ?? Promise.resolve(''));
    await expect(read()).rejects.toThrow('the disk is full');
    expect(await read()).toBe('read');
  });
});
