import { describe, expect, it } from 'vitest';
import type { LlamaContext } from 'node-llama-cpp';
import { SlotPool, type Slot } from '../../../../../src/engine/llama/kvCache/slots.ts';

const never = new AbortController().signal;

/** Slots over caches that are only names: a, b, c; each says how much of any prompt it holds. */
function slotsOf(count: number, held: Readonly<Record<string, number>> = {}): SlotPool {
  const names = ['a', 'b', 'c', 'd'];
  const getSequence = () => {
    const name = names.shift() ?? '';
    const compareContextTokens = () => ({ firstDifferentIndex: held[name] ?? 0 });
    return { name, compareContextTokens, dispose: async () => {} };
  };
  // The slots ask a context for nothing else.
  return new SlotPool({ totalSequences: count, getSequence } as unknown as LlamaContext);
}

const nameOf = (slot: Slot | undefined): unknown => slot && 'name' in slot.cache && slot.cache.name;

async function taken(slots: SlotPool, owner: object, signal = never): Promise<Slot> {
  const slot = await slots.acquire(owner, [], signal);
  if (!slot) throw new Error('no slot');
  return slot;
}

describe('slots', () => {
  it('are given to their last owner again, then free, then the longest idle', async () => {
    const slots = slotsOf(2);
    const [ann, bob, cid] = [{}, {}, {}];
    const first = await taken(slots, ann);
    const second = await taken(slots, bob);
    expect([nameOf(first), nameOf(second)]).toEqual(['a', 'b']);
    slots.release(second);
    slots.release(first);
    const again = await taken(slots, bob);
    expect(nameOf(again)).toBe('b');
    slots.release(again);
    expect(nameOf(await taken(slots, cid))).toBe('a');
    expect(nameOf(await taken(slots, ann))).toBe('b');
  });

  it('go to those who wait in the order in which they came', async () => {
    const slots = slotsOf(1);
    const order: string[] = [];
    const slot = await taken(slots, {});
    const waiting = ['first', 'second', 'third'].map(async (name) => {
      const got = await taken(slots, { name });
      order.push(name);
      slots.release(got);
    });
    slots.release(slot);
    await Promise.all(waiting);
    expect(order).toEqual(['first', 'second', 'third']);
  });

  it('are waited for no longer than the signal lets one', async () => {
    const slots = slotsOf(1);
    const slot = await taken(slots, {});
    const control = new AbortController();
    const waiting = slots.acquire({}, [], control.signal);
    const next = slots.acquire({}, [], never);
    control.abort();
    expect(await waiting).toBeUndefined();
    slots.release(slot);
    expect(nameOf(await next)).toBe('a');
    expect(await slots.acquire({}, [], AbortSignal.abort())).toBeUndefined();
  });

  it('are never two for one owner, who does not hold up others', async () => {
    const slots = slotsOf(2);
    const ann = {};
    const slot = await taken(slots, ann);
    const again = slots.acquire(ann, [], never);
    expect(nameOf(await taken(slots, {}))).toBe('b');
    slots.release(slot);
    expect(nameOf(await again)).toBe('a');
  });

  it('are free when their owner leaves, who waits no longer', async () => {
    const slots = slotsOf(2);
    const [ann, bob, cid] = [{}, {}, {}];
    const first = await taken(slots, ann);
    const second = await taken(slots, bob);
    const waiting = slots.acquire(cid, [], never);
    slots.forgetOwner(cid);
    expect(await waiting).toBeUndefined();
    slots.release(first);
    slots.release(second);
    slots.forgetOwner(bob);
    expect(nameOf(await taken(slots, cid))).toBe('b');
  });

  it('that nobody owns go to whoever finds most of the prompt there', async () => {
    const held: Record<string, number> = {};
    const slots = slotsOf(3, held);
    const owners = [{}, {}, {}];
    for (const slot of await Promise.all(owners.map((owner) => taken(slots, owner)))) slots.release(slot);
    owners.forEach((owner) => slots.forgetOwner(owner));
    Object.assign(held, { a: 3, b: 40, c: 7 });
    expect(nameOf(await taken(slots, {}))).toBe('b');
    expect(nameOf(await taken(slots, {}))).toBe('c');
  });

  it('say who loses with them what they hold', async () => {
    const slots = slotsOf(1);
    const [ann, bob] = [{}, {}];
    const hers = await taken(slots, ann);
    expect(hers.evicted).toBeUndefined();
    slots.release(hers);
    const his = await taken(slots, bob);
    expect(his.evicted).toBe(ann);
    slots.release(his);
    expect((await taken(slots, bob)).evicted).toBeUndefined();
  });

  it('are emptied after a failure', async () => {
    const slots = slotsOf(1);
    const ann = {};
    const slot = await taken(slots, ann);
    await slots.reset(slot);
    slots.release(slot);
    expect(nameOf(await taken(slots, ann))).toBe('b');
  });
});
