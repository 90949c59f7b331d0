import { describe, expect, it } from 'vitest';
import type { Priority } from '../../../../src/inference/contract/pace.ts';
import { type RemoteSlot, RemoteSlots } from '../../../../src/inference/remote/endpoints/remoteSlots.ts';
import { neverAborted } from '../../../contracts/generation.ts';

/** Slots that share 1,000 cells, of which each has 64 to spare, and who has got one. */
function sharedSlots() {
  const slots = new RemoteSlots(4, 1000);
  const got: string[] = [];
  const taken = new Map<string, RemoteSlot>();
  const ask = async (name: string, cells: number, priority: Priority = 'NORMAL', signal = neverAborted) => {
    const slot = await slots.acquire({ owner: {}, prompt: [], tokens: cells - 64, priority }, signal);
    if (!slot) return;
    got.push(name);
    taken.set(name, slot);
  };
  const release = async (name: string): Promise<void> => {
    const slot = taken.get(name);
    if (slot) slots.release(slot);
    await new Promise(setImmediate);
  };
  return { slots, got, taken, ask, release };
}

describe('slots that share the cells of one KV cache', () => {
  it('are given as long as all cells that requests may need are left, and to one that may need more alone', async () => {
    const { slots, got, ask, release } = sharedSlots();
    await Promise.all([ask('a', 400), ask('b', 600)]);
    void ask('c', 2000);
    await release('a');
    expect(got).toEqual(['a', 'b']);
    expect(slots.waiting).toBe(1);
    await release('b');
    expect(got).toEqual(['a', 'b', 'c']);
  });

  it('are given by priority, and not past a request that waits for more cells', async () => {
    const { got, ask, release } = sharedSlots();
    await ask('a', 600);
    void ask('large', 900);
    void ask('small', 100);
    void ask('urgent', 500, 'URGENT');
    await release('a');
    expect(got).toEqual(['a', 'urgent']);
    await release('urgent');
    expect(got).toEqual(['a', 'urgent', 'large', 'small']);
  });

  it('are given to others once a request that waits for more cells is aborted', async () => {
    const { got, ask } = sharedSlots();
    await ask('a', 600);
    const abort = new AbortController();
    const large = ask('large', 900, 'NORMAL', abort.signal);
    const small = ask('small', 100);
    abort.abort();
    await Promise.all([large, small]);
    expect(got).toEqual(['a', 'small']);
  });

  it('are given back by the request that came last, once all have grown too large', async () => {
    const { slots, taken, ask } = sharedSlots();
    await Promise.all([ask('a', 400), ask('b', 500)]);
    const mustGiveBack = (name: string, cells: number): boolean =>
      slots.mustGiveBack(taken.get(name) as RemoteSlot, cells - 64);
    expect(mustGiveBack('a', 500)).toBe(false);
    expect(mustGiveBack('b', 500)).toBe(false);
    expect(mustGiveBack('a', 501)).toBe(false);
    expect(mustGiveBack('b', 500)).toBe(true);
    slots.release(taken.get('b') as RemoteSlot);
    expect(mustGiveBack('a', 2000)).toBe(false);
  });

  it('are chosen by the server', async () => {
    const { slots } = sharedSlots();
    const request = { owner: {}, prompt: [], priority: 'NORMAL' } as const;
    expect(await slots.acquire({ ...request, prompt: [] }, neverAborted)).toMatchObject({ id: -1 });
    expect(await new RemoteSlots(4).acquire({ ...request, prompt: [] }, neverAborted)).toMatchObject({ id: 0 });
  });
});
