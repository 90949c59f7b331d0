import { describe, expect, it } from 'vitest';
import type { LlamaContext } from 'node-llama-cpp';
import { Seats, type Seat } from '../../src/engine/llama/kvCache/slots.ts';

const never = new AbortController().signal;

/** Seats over caches that are only names: a, b, c; each says how much of any prompt it holds. */
function seatsOf(count: number, held: Readonly<Record<string, number>> = {}): Seats {
  const names = ['a', 'b', 'c', 'd'];
  const getSequence = () => {
    const name = names.shift() ?? '';
    const compareContextTokens = () => ({ firstDifferentIndex: held[name] ?? 0 });
    return { name, compareContextTokens, dispose: async () => {} };
  };
  // The seats ask a context for nothing else.
  return new Seats({ totalSequences: count, getSequence } as unknown as LlamaContext);
}

const nameOf = (seat: Seat | undefined): unknown => seat && 'name' in seat.cache && seat.cache.name;

async function taken(seats: Seats, owner: object, signal = never): Promise<Seat> {
  const seat = await seats.take(owner, [], signal);
  if (!seat) throw new Error('no seat');
  return seat;
}

describe('seats', () => {
  it('are given to their last owner again, then free, then the longest idle', async () => {
    const seats = seatsOf(2);
    const [ann, bob, cid] = [{}, {}, {}];
    const first = await taken(seats, ann);
    const second = await taken(seats, bob);
    expect([nameOf(first), nameOf(second)]).toEqual(['a', 'b']);
    seats.release(second);
    seats.release(first);
    const again = await taken(seats, bob);
    expect(nameOf(again)).toBe('b');
    seats.release(again);
    expect(nameOf(await taken(seats, cid))).toBe('a');
    expect(nameOf(await taken(seats, ann))).toBe('b');
  });

  it('go to those who wait in the order in which they came', async () => {
    const seats = seatsOf(1);
    const order: string[] = [];
    const seat = await taken(seats, {});
    const waiting = ['first', 'second', 'third'].map(async (name) => {
      const got = await taken(seats, { name });
      order.push(name);
      seats.release(got);
    });
    seats.release(seat);
    await Promise.all(waiting);
    expect(order).toEqual(['first', 'second', 'third']);
  });

  it('are waited for no longer than the signal lets one', async () => {
    const seats = seatsOf(1);
    const seat = await taken(seats, {});
    const control = new AbortController();
    const waiting = seats.take({}, [], control.signal);
    const next = seats.take({}, [], never);
    control.abort();
    expect(await waiting).toBeUndefined();
    seats.release(seat);
    expect(nameOf(await next)).toBe('a');
    expect(await seats.take({}, [], AbortSignal.abort())).toBeUndefined();
  });

  it('are never two for one owner, who does not hold up others', async () => {
    const seats = seatsOf(2);
    const ann = {};
    const seat = await taken(seats, ann);
    const again = seats.take(ann, [], never);
    expect(nameOf(await taken(seats, {}))).toBe('b');
    seats.release(seat);
    expect(nameOf(await again)).toBe('a');
  });

  it('are free when their owner leaves, who waits no longer', async () => {
    const seats = seatsOf(2);
    const [ann, bob, cid] = [{}, {}, {}];
    const first = await taken(seats, ann);
    const second = await taken(seats, bob);
    const waiting = seats.take(cid, [], never);
    seats.leave(cid);
    expect(await waiting).toBeUndefined();
    seats.release(first);
    seats.release(second);
    seats.leave(bob);
    expect(nameOf(await taken(seats, cid))).toBe('b');
  });

  it('that nobody owns go to whoever finds most of the prompt there', async () => {
    const held: Record<string, number> = {};
    const seats = seatsOf(3, held);
    const owners = [{}, {}, {}];
    for (const seat of await Promise.all(owners.map((owner) => taken(seats, owner)))) seats.release(seat);
    owners.forEach((owner) => seats.leave(owner));
    Object.assign(held, { a: 3, b: 40, c: 7 });
    expect(nameOf(await taken(seats, {}))).toBe('b');
    expect(nameOf(await taken(seats, {}))).toBe('c');
  });

  it('say who loses with them what they hold', async () => {
    const seats = seatsOf(1);
    const [ann, bob] = [{}, {}];
    const hers = await taken(seats, ann);
    expect(hers.displaced).toBeUndefined();
    seats.release(hers);
    const his = await taken(seats, bob);
    expect(his.displaced).toBe(ann);
    seats.release(his);
    expect((await taken(seats, bob)).displaced).toBeUndefined();
  });

  it('are emptied after a failure', async () => {
    const seats = seatsOf(1);
    const ann = {};
    const seat = await taken(seats, ann);
    await seats.renew(seat);
    seats.release(seat);
    expect(nameOf(await taken(seats, ann))).toBe('b');
  });
});
