import { getEventListeners } from 'node:events';
import { describe, expect, it } from 'vitest';
import { raceAbort, untilAborted } from '../../../src/base/abort.ts';

const never = new Promise<void>(() => undefined);
const failed = (): Promise<void> => Promise.reject(new Error('no disk'));

describe('a wait that a signal ends', () => {
  it.each([
    ['the promise is fulfilled', async (signal: AbortSignal) => untilAborted(Promise.resolve(), signal)],
    ['the promise is rejected', async (signal: AbortSignal) => untilAborted(failed(), signal)],
    ['another signal is aborted', (signal: AbortSignal) => untilAborted(never, signal, AbortSignal.abort())],
    ['the promise of a race is rejected', async (signal: AbortSignal) => raceAbort(failed(), signal)],
  ])('leaves no listener on it when %s', async (_, wait) => {
    const { signal } = new AbortController();
    await wait(signal).catch(() => undefined);
    await new Promise(setImmediate);
    expect(getEventListeners(signal, 'abort')).toEqual([]);
  });

  it('leaves no listener on a signal that was aborted before', async () => {
    const signal = AbortSignal.abort(new Error('too late'));
    await expect(raceAbort(never, signal)).rejects.toThrow('too late');
    await untilAborted(never, signal);
    expect(getEventListeners(signal, 'abort')).toEqual([]);
  });

  it('rejects with what the promise rejects with', async () => {
    const { signal } = new AbortController();
    await expect(untilAborted(failed(), signal)).rejects.toThrow('no disk');
    await expect(raceAbort(failed(), signal)).rejects.toThrow('no disk');
  });
});
