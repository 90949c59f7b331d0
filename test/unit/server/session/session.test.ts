import { describe, expect, it } from 'vitest';
import { SearchQueue } from '../../../../src/server/session/session.ts';

const readsFast = () => undefined;
const { signal } = new AbortController();

describe('the searches of a session', () => {
  it('run one after another, also after one that fails', async () => {
    const queue = new SearchQueue();
    const steps: string[] = [];
    const search = (name: string) => async (): Promise<string> => {
      steps.push(`${name} begins`);
      await new Promise((resolve) => setImmediate(resolve));
      steps.push(`${name} ends`);
      if (name === 'b') throw new Error('b fails');
      return name;
    };
    const results = ['a', 'b', 'c'].map((name) => queue.run({ backpressure: readsFast, signal }, search(name)));
    expect(await Promise.allSettled(results)).toMatchObject([{ value: 'a' }, { status: 'rejected' }, { value: 'c' }]);
    expect(steps).toEqual(['a begins', 'a ends', 'b begins', 'b ends', 'c begins', 'c ends']);
  });

  it('wait until the client reads', async () => {
    const queue = new SearchQueue();
    let resume = (): void => undefined;
    let waiting: Promise<void> | undefined = new Promise((resolve) => (resume = resolve));
    const steps: string[] = [];
    const result = queue.run({ backpressure: () => waiting, signal }, async () => steps.push('search'));
    await new Promise((resolve) => setImmediate(resolve));
    steps.push('read');
    waiting = undefined;
    resume();
    await result;
    expect(steps).toEqual(['read', 'search']);
  });

  it('do not begin when the session has ended', async () => {
    const end = new AbortController();
    const reason = new Error('the session has ended');
    const result = new SearchQueue().run({ backpressure: readsFast, signal: end.signal }, async () => 'found');
    end.abort(reason);
    await expect(result).rejects.toBe(reason);
  });
});
