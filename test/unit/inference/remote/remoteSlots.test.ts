import { describe, expect, it } from 'vitest';
import type { Priority } from '../../../../src/inference/contract/pace.ts';
import { type RemoteSlot, RemoteSlots } from '../../../../src/inference/remote/endpoints/remoteSlots.ts';
import { neverAborted } from '../../../contracts/generation.ts';

/** Slots that share 100 cells, and who has got one. */
function sharedSlots() {
  const slots = new RemoteSlots(4, 100);
  const got: string[] = [];
  const taken = new Map<string, RemoteSlot>();
  const ask = async (name: string, cells: number, priority: Priority = 'NORMAL', signal = neverAborted) => {
    const slot = await slots.acquire({ owner: {}, prompt: [], cells, priority }, signal);
    if (!slot) return;
    got.push(name);
    taken.set(name, slot);
  };
  const release = async (name: string): Promise<void> => {
    const slot = taken.get(name);
    if (slot) slots.release(slot);
    await new Promise(setImmediate);
  };
  return { slots, got, ask, release };
}

describe('slots that share the cells of one KV cache', () => {
  it('are given as long as all cells that requests may need are left, and to one that may need more alone', async () => {
    const { slots, got, ask, release } = sharedSlots();
    await Promise.all([ask('a', 40), ask('b', 60)]);
    void ask('c', 200);
    await release('a');
    expect(got).toEqual(['a', 'b']);
    expect(slots.waiting).toBe(1);
    await release('b');
    expect(got).toEqual(['a', 'b', 'c']);
  });

  it('are given by priority, and not past a request that waits for more cells', async () => {
    const { got, ask, release } = sharedSlots();
    await ask('a', 60);
    void ask('large', 90);
    void ask('small', 10);
    void ask('urgent', 50, 'URGENT');
    await release('a');
    expect(got).toEqual(['a', 'urgent']);
    await release('urgent');
    expect(got).toEqual(['a', 'urgent', 'large', 'small']);
  });

  it('are given to others once a request that waits for more cells is aborted', async () => {
    const { got, ask } = sharedSlots();
    await ask('a', 60);
    const abort = new AbortController();
    const large = ask('large', 90, 'NORMAL', abort.signal);
    const small = ask('small', 10);
    abort.abort();
    await Promise.all([large, small]);
    expect(got).toEqual(['a', 'small']);
  });

  it('are chosen by the server', async () => {
    const { slots } = sharedSlots();
    const request = { owner: {}, prompt: [], priority: 'NORMAL' } as const;
    expect(await slots.acquire({ ...request, prompt: [] }, neverAborted)).toMatchObject({ id: -1 });
    expect(await new RemoteSlots(4).acquire({ ...request, prompt: [] }, neverAborted)).toMatchObject({ id: 0 });
  });
});
