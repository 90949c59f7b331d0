import { setMaxListeners } from 'node:events';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import type { LlamaContext, Token } from 'node-llama-cpp';
import { Fault } from '../../../../../src/protocol/fault.ts';
import { fullPace, Pace, type Priority } from '../../../../../src/inference/contract/pace.ts';
import { BackgroundGate } from '../../../../../src/inference/llama/batching/backgroundGate.ts';
import { SlotRun } from '../../../../../src/inference/llama/kvCache/slotRun.ts';
import { type Slot, SlotPool } from '../../../../../src/inference/llama/kvCache/slots.ts';
import { ThreadCap } from '../../../../../src/inference/llama/threads/batchThreads.ts';

const neverAborted = new AbortController().signal;
// Of many tests some request still waits.
setMaxListeners(0, neverAborted);

/** Slots with fake KV caches named a, b, c, d; the prefix length that each reports is given by name. */
function createSlots(
  count: number,
  cachedPrefixLengths: Readonly<Record<string, number>> = {},
  now: () => number = () => 0,
  { canCopy = false, cachedTokens = {} }: { canCopy?: boolean; cachedTokens?: Readonly<Record<string, number>> } = {},
): SlotPool {
  // SlotPool uses no other members of a context.
  const context = createContext(count, cachedPrefixLengths, ['a', 'b', 'c', 'd'], cachedTokens);
  return new SlotPool(context, canCopy, now);
}

function createContext(
  count: number,
  cachedPrefixLengths: Readonly<Record<string, number>> = {},
  names = ['a', 'b', 'c', 'd'],
  cachedTokens: Readonly<Record<string, number>> = {},
): LlamaContext {
  const getSequence = () => {
    const name = names.shift() ?? '';
    const compareContextTokens = () => ({ firstDifferentIndex: cachedPrefixLengths[name] ?? 0 });
    return { name, compareContextTokens, nextTokenIndex: cachedTokens[name] ?? 100, dispose: async () => {} };
  };
  return { totalSequences: count, getSequence } as unknown as LlamaContext;
}

const nameOf = (slot: Slot | undefined): unknown => slot && 'name' in slot.cache && slot.cache.name;

async function acquire(slots: SlotPool, owner: object, signal = neverAborted, length = 0): Promise<Slot> {
  const prompt = Array.from({ length }, (_, token) => token as Token);
  const slot = await slots.acquire({ owner, prompt, priority: 'NORMAL' }, signal);
  if (!slot) throw new Error('no slot');
  return slot;
}

describe('slots', () => {
  it('prefer the slot of the same owner, then a free one, then the least recently used', async () => {
    const slots = createSlots(2);
    const [ann, bob, cid] = [{}, {}, {}];
    const first = await acquire(slots, ann);
    const second = await acquire(slots, bob);
    expect([nameOf(first), nameOf(second)]).toEqual(['a', 'b']);
    slots.release(second);
    slots.release(first);
    const again = await acquire(slots, bob);
    expect(nameOf(again)).toBe('b');
    slots.release(again);
    expect(nameOf(await acquire(slots, cid))).toBe('a');
    expect(nameOf(await acquire(slots, ann))).toBe('b');
  });

  it('are given for idle work only to the owner that still has one, and only while no one waits', async () => {
    const slots = createSlots(1);
    const [ann, bob] = [{}, {}];
    const slot = await acquire(slots, ann);
    expect(slots.acquireOwn(ann)).toBeUndefined();
    slots.release(slot);
    expect(slots.acquireOwn(bob)).toBeUndefined();
    expect(slots.acquireOwn(ann)).toBe(slot);
    const waiting = acquire(slots, bob);
    expect(slots.isWanted(-1)).toBe(true);
    slots.release(slot);
    slots.release(await waiting);
    expect(slots.acquireOwn(ann)).toBeUndefined();
    const vacated = slots.vacate();
    expect(slots.acquireOwn(bob)).toBeUndefined();
    await vacated;
  });

  it('are acquired in order of the requests', async () => {
    const slots = createSlots(1);
    const order: string[] = [];
    const slot = await acquire(slots, {});
    const pending = ['first', 'second', 'third'].map(async (name) => {
      const acquired = await acquire(slots, { name });
      order.push(name);
      slots.release(acquired);
    });
    slots.release(slot);
    await Promise.all(pending);
    expect(order).toEqual(['first', 'second', 'third']);
  });

  it('are acquired by priority, and in order of the requests within one', async () => {
    const slots = createSlots(1);
    const order: string[] = [];
    const slot = await acquire(slots, {});
    const requests = [
      ['later', 'BACKGROUND'],
      ['first', 'NORMAL'],
      ['second', 'NORMAL'],
      ['now', 'URGENT'],
    ] as const;
    const pending = requests.map(async ([name, priority]) => {
      const acquired = await slots.acquire({ owner: { name }, prompt: [], priority }, neverAborted);
      order.push(name);
      if (acquired) slots.release(acquired);
    });
    slots.release(slot);
    await Promise.all(pending);
    expect(order).toEqual(['now', 'first', 'second', 'later']);
  });

  it('are given at last to a request that others always precede', async () => {
    let now = 0;
    const slots = createSlots(1, {}, () => now);
    let slot: Slot | undefined = await acquire(slots, {});
    let isServed = false;
    const background = slots.acquire({ owner: {}, prompt: [], priority: 'BACKGROUND' }, neverAborted);
    void background.then(() => (isServed = true));
    let waits = 0;
    for (; !isServed && waits < 100; waits++) {
      now += 1000;
      const next = slots.acquire({ owner: {}, prompt: [], priority: 'URGENT' }, neverAborted);
      slots.release(slot);
      slot = await Promise.race([next, background]);
      if (!slot) throw new Error('no slot');
    }
    expect(waits).toBeGreaterThan(10);
    expect(isServed).toBe(true);
    expect((await background)?.rank).toBe(2);
  });

  it('are given sooner to a request that has waited before, and had to give its slot back', async () => {
    let now = 0;
    const slots = createSlots(1, {}, () => now);
    const slot = await acquire(slots, {});
    const others = slots.acquire({ owner: {}, prompt: [], priority: 'NORMAL' }, neverAborted);
    const again = slots.acquire({ owner: {}, prompt: [], priority: 'BACKGROUND', waitedMs: 40_000 }, neverAborted);
    now += 20_000;
    slots.release(slot);
    expect((await Promise.race([others, again]))?.rank).toBe(2);
  });

  it('are wanted by those that wait and have none', async () => {
    const slots = createSlots(1);
    const owner = {};
    const slot = await acquire(slots, owner);
    expect(slots.isWanted(-1)).toBe(false);
    void slots.acquire({ owner, prompt: [], priority: 'URGENT' }, neverAborted);
    expect(slots.isWanted(-1)).toBe(false);
    let calls = 0;
    const stop = slots.onWait(() => calls++);
    void slots.acquire({ owner: {}, prompt: [], priority: 'NORMAL' }, neverAborted);
    stop();
    void slots.acquire({ owner: {}, prompt: [], priority: 'NORMAL' }, neverAborted);
    expect(calls).toBe(1);
    expect([-1, 0, 1].map((rank) => slots.isWanted(rank))).toEqual([true, true, false]);
    slots.release(slot);
  });

  it('are no longer awaited when the signal is aborted', async () => {
    const slots = createSlots(1);
    const slot = await acquire(slots, {});
    const control = new AbortController();
    const pending = slots.acquire({ owner: {}, prompt: [], priority: 'NORMAL' }, control.signal);
    const next = slots.acquire({ owner: {}, prompt: [], priority: 'NORMAL' }, neverAborted);
    control.abort();
    expect(await pending).toBeUndefined();
    slots.release(slot);
    expect(nameOf(await next)).toBe('a');
    expect(await slots.acquire({ owner: {}, prompt: [], priority: 'NORMAL' }, AbortSignal.abort())).toBeUndefined();
  });

  it('are acquired once per owner, whose second request does not block others', async () => {
    const slots = createSlots(2);
    const ann = {};
    const slot = await acquire(slots, ann);
    const again = slots.acquire({ owner: ann, prompt: [], priority: 'NORMAL' }, neverAborted);
    expect(nameOf(await acquire(slots, {}))).toBe('b');
    slots.release(slot);
    expect(nameOf(await again)).toBe('a');
  });

  it('are free when their owner is forgotten, whose request ends', async () => {
    const slots = createSlots(2);
    const [ann, bob, cid] = [{}, {}, {}];
    const first = await acquire(slots, ann);
    const second = await acquire(slots, bob);
    const pending = slots.acquire({ owner: cid, prompt: [], priority: 'NORMAL' }, neverAborted);
    slots.forgetOwner(cid);
    expect(await pending).toBeUndefined();
    slots.release(first);
    slots.release(second);
    slots.forgetOwner(bob);
    expect(nameOf(await acquire(slots, cid))).toBe('b');
  });

  it('without an owner are chosen by the longest cached prefix', async () => {
    const cachedPrefixLengths: Record<string, number> = {};
    const slots = createSlots(3, cachedPrefixLengths);
    const owners = [{}, {}, {}];
    for (const slot of await Promise.all(owners.map((owner) => acquire(slots, owner)))) slots.release(slot);
    owners.forEach((owner) => slots.forgetOwner(owner));
    Object.assign(cachedPrefixLengths, { a: 3, b: 40, c: 7 });
    expect(nameOf(await acquire(slots, {}))).toBe('b');
    expect(nameOf(await acquire(slots, {}))).toBe('c');
  });

  // Each slot had a prompt of 20 tokens and holds 100; their releases were in the order b, a, c.
  it.each([
    ['the one whose prompt goes on', 30, { a: 20, b: 20, c: 24 }, {}, { slot: 'c' }],
    ['the one whose prompt goes on, but for the opening of the answer', 30, { a: 0, b: 17, c: 0 }, {}, { slot: 'b' }],
    ['the one that holds all of the prompt', 10, { a: 5, b: 9, c: 0 }, { c: 0 }, { slot: 'b' }],
    ['an empty one, and the longest to copy', 30, { a: 2, b: 14, c: 0 }, { c: 0 }, { slot: 'c', source: 'b' }],
    ['the least recently used one, and the longest to copy', 30, { a: 3, b: 3, c: 14 }, {}, { slot: 'b', source: 'c' }],
    ['the least recently used one, which is the longest', 30, { a: 3, b: 14, c: 4 }, {}, { slot: 'b' }],
    ['where none can be copied, an empty one', 30, { a: 2, b: 14, c: 0 }, { c: 0 }, { slot: 'c' }, false],
    [
      'where none can be copied, the least recently used of the longest',
      30,
      { a: 12, b: 11, c: 4 },
      {},
      { slot: 'b' },
      false,
    ],
    ['where none can be copied, the longest', 30, { a: 1, b: 1, c: 14 }, {}, { slot: 'c' }, false],
  ])('without an owner give %s', async (_, length, prefixes, cachedTokens, chosen, canCopy = true) => {
    const slots = createSlots(3, prefixes, () => 0, { canCopy, cachedTokens });
    const owners = [{}, {}, {}];
    const all: Slot[] = [];
    for (const owner of owners) all.push(await acquire(slots, owner, neverAborted, 20));
    for (const given of ['b', 'a', 'c']) for (const slot of all) if (nameOf(slot) === given) slots.release(slot);
    for (const owner of owners) slots.forgetOwner(owner);
    const slot = await acquire(slots, {}, neverAborted, length);
    expect({ slot: nameOf(slot), source: nameOf(slot.source) }).toEqual({ source: undefined, ...chosen });
  });

  it('keep the one that is copied from others until it is given back', async () => {
    const slots = createSlots(2, { a: 14 }, () => 0, { canCopy: true, cachedTokens: { b: 0 } });
    const owner = {};
    slots.release(await acquire(slots, owner, neverAborted, 20));
    slots.forgetOwner(owner);
    const copying = await acquire(slots, {}, neverAborted, 30);
    expect([nameOf(copying), nameOf(copying.source)]).toEqual(['b', 'a']);
    const waiting = acquire(slots, {});
    expect(slots.stats()).toMatchObject({ slotsBusy: 2, waiting: 1 });
    slots.releaseSource(copying);
    expect(nameOf(await waiting)).toBe('a');
    slots.releaseSource(copying);
    expect(slots.stats()).toMatchObject({ slotsBusy: 2, waiting: 0 });
  });

  it('report the evicted owner', async () => {
    const slots = createSlots(1);
    const [ann, bob] = [{}, {}];
    const first = await acquire(slots, ann);
    expect(first.evicted).toBeUndefined();
    slots.release(first);
    const second = await acquire(slots, bob);
    expect(second.evicted).toBe(ann);
    slots.release(second);
    expect((await acquire(slots, bob)).evicted).toBeUndefined();
  });

  it('are reset after a failure', async () => {
    const slots = createSlots(1);
    const ann = {};
    const slot = await acquire(slots, ann);
    await slots.reset(slot);
    slots.release(slot);
    expect(nameOf(await acquire(slots, ann))).toBe('b');
  });

  it.each([
    ['an urgent one', { priority: 'URGENT' }, true],
    ['a normal one', { priority: 'NORMAL' }, true],
    ['one in the background', { priority: 'BACKGROUND' }, false],
    ['a warm-up', { priority: 'NORMAL', isWarmUp: true }, false],
  ] as const)('are in demand by a request that waits: %s', async (_, request, isDemand) => {
    const slots = createSlots(1);
    const owner = {};
    await acquire(slots, owner);
    void slots.acquire({ owner, prompt: [], priority: 'URGENT' }, neverAborted);
    // It waits for its own slot: another one would not help.
    expect(slots.hasDemand).toBe(false);
    void slots.acquire({ owner: {}, prompt: [], ...request }, neverAborted);
    expect(slots.hasDemand).toBe(isDemand);
  });

  it('are all taken back, and replaced by those of another context', async () => {
    const slots = createSlots(2);
    const [ann, bob, cid] = [{}, {}, {}];
    const slot = await acquire(slots, ann);
    slots.release(await acquire(slots, bob));
    let isVacant = false;
    let hasWoken = false;
    slots.onWait(() => (hasWoken = true));
    const vacating = slots.vacate().then(() => (isVacant = true));
    // A run that waits is woken, to see that it has to give its slot back.
    expect([slots.isVacating, hasWoken]).toEqual([true, true]);
    const waiting = [ann, bob, cid].map((owner) => acquire(slots, owner));
    expect(slots.stats()).toMatchObject({ slotsBusy: 1, waiting: 3 });
    await Promise.resolve();
    expect(isVacant).toBe(false);
    slots.release(slot);
    await vacating;
    expect(slots.stats()).toMatchObject({ slotsBusy: 0, waiting: 3 });
    expect(slots.owned.map(({ owner }) => owner)).toEqual([ann, bob]);
    slots.fill(createContext(3, {}, ['x', 'y', 'z']));
    expect((await Promise.all(waiting)).map(nameOf)).toEqual(['x', 'y', 'z']);
    expect(slots.stats()).toMatchObject({ slots: 3, slotsBusy: 3, waiting: 0 });
  });

  it('reject all requests when there is no context any more', async () => {
    const slots = createSlots(1);
    await slots.vacate();
    const waiting = acquire(slots, {});
    slots.fail(new Fault('INFERENCE_FAILED', 'there is no context'));
    await expect(waiting).rejects.toThrow('there is no context');
    await expect(acquire(slots, {})).rejects.toThrow('there is no context');
  });
});

describe('a run in a slot', () => {
  async function startRun(priority: Priority, gate = new BackgroundGate()) {
    const slots = createSlots(1);
    const slot = await slots.acquire({ owner: {}, prompt: [], priority }, neverAborted);
    if (!slot) throw new Error('no slot');
    const parts = { slot, slots, gate, threadCap: new ThreadCap(), pace: undefined, throttle: undefined, signals: [] };
    return { gate, run: new SlotRun({ ...parts, contextSize: 0, priority }) };
  }

  async function gateDuring(priority: Priority): Promise<readonly boolean[]> {
    const { gate, run } = await startRun(priority);
    const seen = [gate.isClosed];
    run.onPromptEvaluated();
    seen.push(gate.isClosed);
    await run.wait(0);
    seen.push(gate.isClosed);
    run[Symbol.dispose]();
    return [...seen, gate.isClosed];
  }

  it('pauses after each step, and takes short ones, as long as its session has a share of the time', async () => {
    vi.useFakeTimers({ toFake: ['performance'] });
    onTestFinished(() => void vi.useRealTimers());
    const slots = createSlots(1);
    const parts = {
      slots,
      gate: new BackgroundGate(),
      threadCap: new ThreadCap(),
      throttle: undefined,
      signals: [],
      contextSize: 0,
    };
    const pace = new Pace({ ...fullPace, maxShare: 0.25 });
    using run = new SlotRun({ ...parts, slot: await acquire(slots, {}), priority: 'NORMAL', pace });
    expect([run.tokenWaitMs, run.takesShortSteps]).toEqual([0, true]);
    await run.takeStep(async () => void vi.advanceTimersByTime(20));
    expect([run.tokenWaitMs, run.shouldPause]).toEqual([60, false]);
    vi.advanceTimersByTime(60);
    expect(run.tokenWaitMs).toBe(0);
    await run.takeStep(async () => void vi.advanceTimersByTime(20));
    pace.set({ maxShare: 0 });
    expect([run.tokenWaitMs, run.takesShortSteps]).toEqual([0, false]);
  });

  it('holds inferences in the background back while its prompt is evaluated, and until its end if it is urgent', async () => {
    expect(await gateDuring('NORMAL')).toEqual([true, false, false, false]);
    expect(await gateDuring('URGENT')).toEqual([true, true, true, false]);
    expect(await gateDuring('BACKGROUND')).toEqual([false, false, false, false]);
  });

  it('begins in the background a moment after another one has ended, which the next message may follow', async () => {
    const { gate, run } = await startRun('NORMAL');
    run[Symbol.dispose]();
    const inAnHour = performance.now() + 3_600_000;
    const begun = await startRun('BACKGROUND', gate);
    gate.ended(inAnHour);
    const [later, next] = [await startRun('BACKGROUND', gate), await startRun('NORMAL', gate)];
    next.run.onPromptEvaluated();
    const areWaiting = [begun, later, next].map(({ run }) => run.tokenWaitMs > 1000);
    expect(areWaiting).toEqual([false, true, false]);
  });
});
