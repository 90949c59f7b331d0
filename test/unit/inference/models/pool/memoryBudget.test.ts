import { describe, expect, it } from 'vitest';
import type { Engine, LoadOptions, Model } from '../../../../../src/inference/contract/engine.ts';
import { mockEngine } from '../../../../../src/inference/mock/engine.ts';
import type { LoadPlan, ModelStats } from '../../../../../src/inference/contract/memory.ts';
import { createFileEntry } from '../../../../../src/inference/models/catalogue/fileEntry.ts';
import { MemoryBudget } from '../../../../../src/inference/models/pool/memoryBudget.ts';
import { ModelPool } from '../../../../../src/inference/models/pool/pool.ts';

const megabyte = 1e6;
const megabytes = (count: number) => ({ ram: count * megabyte, vram: 0 });

/** An engine whose models have weights of 50 MB, slots of 10 MB, and load when `finish` is called. */
class SizedEngine implements Engine {
  readonly name = 'sized';
  readonly needsFiles = false;
  /** The models in memory and those that are loading, in MB. */
  readonly taken = new Map<Model | object, number>();
  readonly loads: { readonly options: LoadOptions; readonly finish: () => void; readonly fail: () => void }[] = [];
  highest = 0;
  /** What weights really take, in MB. */
  realWeights = 50;
  isManual = false;
  readonly #mock = mockEngine();

  readonly estimate = async (_file: string, { within, slots }: LoadOptions): Promise<LoadPlan> =>
    this.#plan(50, slots || 4, within?.ram);

  async load(file: string, options: LoadOptions): Promise<Model> {
    const plan = this.#plan(this.realWeights, options.slots || 4, options.within?.ram);
    const loading = {};
    this.#take(loading, plan);
    const done = new Promise<void>((resolve, reject) => {
      this.loads.push({ options, finish: resolve, fail: () => reject(new Error('the disk is gone')) });
      if (!this.isManual) resolve();
    });
    try {
      await done;
    } finally {
      this.taken.delete(loading);
    }
    const model = await this.#mock.load(file, options);
    this.#take(model, plan);
    const dispose = async (): Promise<void> => void this.taken.delete(model);
    const stats = (): ReturnType<Model['stats']> => ({ ...noStats, slots: plan.slots, memory: plan });
    return Object.assign(model, { [Symbol.asyncDispose]: dispose, stats });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#mock[Symbol.asyncDispose]();
  }

  #plan(weights: number, wantedSlots: number, within = Infinity): LoadPlan {
    const fitting = Math.max(1, Math.floor((within / megabyte - weights) / 10));
    const slots = Math.min(wantedSlots, fitting);
    const parts = { weights: megabytes(weights), context: megabytes(slots * 10), slot: megabytes(10) };
    return { ...parts, slots, contextSize: 8192 };
  }

  #take(key: object, { weights, context }: LoadPlan): void {
    this.taken.set(key, (weights.ram + context.ram) / megabyte);
    this.highest = Math.max(
      this.highest,
      [...this.taken.values()].reduce((sum, value) => sum + value, 0),
    );
  }
}

const { memory: _, ...noStats } = (
  await mockEngine().load('', { contextSize: 0, slots: 0, threads: 0, gpu: 'off' })
).stats();

const names = ['a', 'b', 'c'];
const models = new Map(
  names.map((name) => [name, { ...createFileEntry(`/${name}.gguf`, new Map(), '/'), name }] as const),
);
const catalogue = { models, problems: [], rejected: new Map<string, string>() };

function openPool(engine: SizedEngine, budget: MemoryBudget): ModelPool {
  return new ModelPool(engine, { catalogue, idleMs: 60_000, slots: 0, threads: 1, gpu: 'off', budget });
}

const settled = (): Promise<void> => new Promise((resolve) => void setTimeout(resolve, 20));

describe('a memory budget', () => {
  it('is what is left after all reservations, until they are released', () => {
    const budget = new MemoryBudget({ memoryLimit: 100 });
    const hold = budget.reserve(megabytes(70));
    expect(budget.left.ram).toBe(30 * megabyte);
    expect(budget.reserve(megabytes(31))).toBeUndefined();
    hold?.settle(megabytes(50));
    expect(budget.left.ram).toBe(50 * megabyte);
    hold?.release();
    expect(budget.used).toEqual(megabytes(0));
  });

  it('lets a model take more of what is left, and less at any time', () => {
    const budget = new MemoryBudget({ memoryLimit: 100, vramLimit: 10 });
    const hold = budget.reserve(megabytes(50));
    budget.reserve(megabytes(30));
    expect(hold?.resize(megabytes(71))).toBe(false);
    expect(hold?.resize({ ram: 0, vram: 11 * megabyte })).toBe(false);
    expect(budget.left.ram).toBe(20 * megabyte);
    expect(hold?.resize(megabytes(70))).toBe(true);
    expect(budget.left.ram).toBe(0);
    expect(hold?.resize(megabytes(40))).toBe(true);
    expect(budget.left.ram).toBe(30 * megabyte);
  });

  it('makes room by what a model has taken since its load, asked for once', async () => {
    const budget = new MemoryBudget({ memoryLimit: 100 });
    const hold = budget.reserve(megabytes(50));
    const shrunk: number[] = [];
    hold?.settle(megabytes(40), async () => void shrunk.push(budget.left.ram));
    expect(budget.makeRoom()).toBeUndefined();
    hold?.resize(megabytes(90));
    hold?.resize(megabytes(90));
    // Another load waits for the same room, and does not look for other.
    await Promise.all([budget.makeRoom(), budget.makeRoom()]);
    expect(shrunk).toEqual([10 * megabyte]);
    expect(budget.makeRoom()).toBeUndefined();
  });

  it('limits memory of cards on its own', () => {
    const budget = new MemoryBudget({ vramLimit: 10 });
    expect(budget.reserve({ ram: 1e15, vram: 10 * megabyte })).toBeDefined();
    expect(budget.reserve({ ram: 0, vram: 1 })).toBeUndefined();
  });

  it('is no limit by default', () => {
    expect(new MemoryBudget({}).isLimited).toBe(false);
  });
});

describe('a model whose number of slots can change', () => {
  it.each([
    [0, 0, true],
    [200, 0, true],
    [0, 4, false],
    [200, 4, false],
  ])('with a limit of %i MB and --slots %i: %s', async (memoryLimit, slots, isResizable) => {
    const engine = new SizedEngine();
    const resized: unknown[] = [];
    const options = { catalogue, idleMs: 60_000, slots, threads: 1, gpu: 'off' } as const;
    const budget = new MemoryBudget({ memoryLimit });
    const onResized = (model: string, stats: ModelStats): unknown => resized.push([model, stats.slots]);
    await using pool = new ModelPool(engine, { ...options, budget, onResized });
    await using lease = await pool.lease('a');
    const resizing = engine.loads[0]?.options.resizing;
    expect(resizing !== undefined).toBe(isResizable);
    expect(await resizing?.requestMemory(megabytes(150))).toBe(isResizable || undefined);
    if (isResizable && memoryLimit > 0) {
      expect(budget.left.ram).toBe(50 * megabyte);
      expect(await resizing?.requestMemory(megabytes(201))).toBe(false);
    }
    resizing?.onResized({ ...lease.model.stats(), slots: 8 });
    expect(resized).toEqual(isResizable ? [['a', 8]] : []);
  });
});

describe('models within a memory limit', () => {
  it('have all slots where there is room, and give back what they do not take', async () => {
    const engine = new SizedEngine();
    const budget = new MemoryBudget({ memoryLimit: 200 });
    await using pool = openPool(engine, budget);
    await using lease = await pool.lease('a');
    expect(lease.model.stats().slots).toBe(4);
    expect(budget.used).toEqual(megabytes(90));
  });

  it('get fewer slots where there is less room', async () => {
    await using pool = openPool(new SizedEngine(), new MemoryBudget({ memoryLimit: 75 }));
    await using lease = await pool.lease('a');
    expect(lease.model.stats().slots).toBe(2);
  });

  it('get fewer slots where their weights take more than was estimated', async () => {
    const engine = new SizedEngine();
    engine.realWeights = 60;
    const budget = new MemoryBudget({ memoryLimit: 85 });
    await using pool = openPool(engine, budget);
    await using lease = await pool.lease('a');
    expect(lease.model.stats().slots).toBe(2);
    expect(engine.highest).toBeLessThanOrEqual(85);
    expect(budget.used).toEqual(megabytes(80));
  });

  it('are refused with both numbers before anything is allocated', async () => {
    const engine = new SizedEngine();
    await using pool = openPool(engine, new MemoryBudget({ memoryLimit: 59 }));
    await expect(pool.lease('a')).rejects.toMatchObject({
      name: 'MODEL_LOAD_FAILED',
      message: expect.stringMatching(/it needs 60 MB, and 59 MB of the 59 MB of --memory-limit are left/),
    });
    expect(engine.loads).toEqual([]);
  });

  it.each(['one pool', 'two pools'])('are never promised the same memory: two loads at once in %s', async (kind) => {
    const engine = new SizedEngine();
    engine.isManual = true;
    const budget = new MemoryBudget({ memoryLimit: 100 });
    await using first = openPool(engine, budget);
    await using second = kind === 'one pool' ? first : openPool(engine, budget);
    const leases = Promise.allSettled([first.lease('a'), second.lease('b')]);
    await settled();
    expect(engine.loads).toHaveLength(1);
    engine.loads[0]?.finish();
    const results = await leases;
    expect(results.map(({ status }) => status).toSorted()).toEqual(['fulfilled', 'rejected']);
    expect(results.find(({ status }) => status === 'rejected')).toMatchObject({
      reason: { name: 'MODEL_LOAD_FAILED' },
    });
    expect(engine.highest).toBeLessThanOrEqual(100);
  });

  it('load at the same time where both fit', async () => {
    const engine = new SizedEngine();
    engine.isManual = true;
    await using pool = openPool(engine, new MemoryBudget({ memoryLimit: 500 }));
    const leases = Promise.all([pool.lease('a'), pool.lease('b')]);
    await settled();
    expect(engine.loads).toHaveLength(2);
    for (const { finish } of engine.loads) finish();
    await leases;
  });

  it('unload the idle model that was used least recently, and no pinned or used one', async () => {
    const engine = new SizedEngine();
    await using pool = openPool(engine, new MemoryBudget({ memoryLimit: 230 }));
    await using used = await pool.lease('a');
    await using other = await pool.lease('b');
    await other[Symbol.asyncDispose]();
    await using third = await pool.lease('c');
    expect(used.name + third.name).toBe('ac');
    expect(names.map((name) => pool.state(name).loaded)).toEqual([true, false, true]);
    await third[Symbol.asyncDispose]();
    await pool.pin('c');
    await expect(pool.lease('b')).rejects.toMatchObject({ name: 'MODEL_LOAD_FAILED' });
    expect(names.map((name) => pool.state(name).loaded)).toEqual([true, false, true]);
  });

  it('unload the idle model of another pool', async () => {
    const budget = new MemoryBudget({ memoryLimit: 130 });
    await using first = openPool(new SizedEngine(), budget);
    await using second = openPool(new SizedEngine(), budget);
    await (await first.lease('a'))[Symbol.asyncDispose]();
    await using lease = await second.lease('b');
    expect(lease.name).toBe('b');
    expect(first.state('a').loaded).toBe(false);
  });

  it('give their memory back when a load fails, is given up, or the model is unloaded', async () => {
    const engine = new SizedEngine();
    engine.isManual = true;
    const budget = new MemoryBudget({ memoryLimit: 130 });
    await using pool = openPool(engine, budget);
    const failing = pool.lease('a');
    await settled();
    engine.loads[0]?.fail();
    await expect(failing).rejects.toThrow('the disk is gone');
    expect(budget.used).toEqual(megabytes(0));
    const closing = new AbortController();
    const givenUp = pool.lease('a', { signal: closing.signal });
    await settled();
    closing.abort();
    await expect(givenUp).rejects.toMatchObject({ name: 'MODEL_LOAD_FAILED' });
    engine.loads[1]?.finish();
    await settled();
    expect(budget.used).toEqual(megabytes(0));
    engine.isManual = false;
    await pool.pin('a');
    expect(budget.used).toEqual(megabytes(90));
    await pool.unpin('a');
    expect(budget.used).toEqual(megabytes(0));
  });

  it('stop waiting for room when nobody waits for them', async () => {
    const engine = new SizedEngine();
    engine.isManual = true;
    await using pool = openPool(engine, new MemoryBudget({ memoryLimit: 100 }));
    const first = pool.lease('a');
    await settled();
    const closing = new AbortController();
    const second = pool.lease('b', { signal: closing.signal });
    await settled();
    closing.abort();
    await expect(second).rejects.toMatchObject({ name: 'MODEL_LOAD_FAILED' });
    engine.loads[0]?.finish();
    await first;
    expect(engine.loads).toHaveLength(1);
  });
});
