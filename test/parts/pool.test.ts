import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import type { Engine, LoadOptions, Model } from '../../src/engine/engine.ts';
import { mockEngine } from '../../src/engine/mock.ts';
import { Fault } from '../../src/fault.ts';
import { readCatalogue, type Catalogue } from '../../src/models/catalogue.ts';
import { ModelPool } from '../../src/models/pool.ts';

/** An engine whose loads end when a test says so, or when they are stopped. */
class SlowEngine implements Engine {
  readonly name = 'slow';
  readonly needsFiles = false;
  readonly #mock = mockEngine();
  finish = (): void => undefined;
  stopped = false;
  readonly #finished = new Promise<void>((resolve) => (this.finish = resolve));

  async load(file: string, options: LoadOptions): Promise<Model> {
    const stopped = new Promise<void>((resolve) => options.signal?.addEventListener('abort', () => resolve()));
    await Promise.race([this.#finished, stopped]);
    this.stopped = options.signal?.aborted ?? false;
    return this.#mock.load(file, options);
  }

  [Symbol.asyncDispose](): PromiseLike<void> {
    return this.#mock[Symbol.asyncDispose]();
  }
}

describe('a model that is being loaded to stay', () => {
  let folder: string;
  let catalogue: Catalogue;
  let engine: SlowEngine;
  let pool: ModelPool;
  let closing: AbortController;
  const why = new Fault('SERVER_SHUTTING_DOWN', 'the server is shutting down');

  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'turngraph-'));
    const file = join(folder, 'models.json');
    const models = [{ name: 'big', variants: [{ engine: 'llama-cpp', files: ['x.gguf'] }] }];
    await writeFile(file, JSON.stringify({ models }));
    catalogue = await readCatalogue(file);
  });
  afterAll(() => rm(folder, { recursive: true }));
  beforeEach(() => {
    engine = new SlowEngine();
    pool = new ModelPool(engine, { catalogue, idleMs: 60_000, seats: 1, threads: 1, gpu: 'off' });
    closing = new AbortController();
  });

  it('is waited for no longer than a signal lets one, and then loaded no further', async () => {
    const pinned = pool.pin('big', { signal: closing.signal });
    expect(pool.state('big')).toMatchObject({ loaded: false, pinned: true, uses: 1 });
    closing.abort(why);
    await expect(pinned).rejects.toBe(why);
    expect(pool.state('big')).toMatchObject({ pinned: false, uses: 0 });
    expect(pool.loading).toEqual([]);
    await pool[Symbol.asyncDispose]();
    expect(engine.stopped).toBe(true);
  });

  it('is loaded on for an agent that waits for it, too, and then belongs to that alone', async () => {
    const pinned = pool.pin('big', { signal: closing.signal });
    const using = pool.use('big');
    closing.abort(why);
    await expect(pinned).rejects.toBe(why);
    engine.finish();
    await using use = await using;
    expect(use.name).toBe('big');
    expect(engine.stopped).toBe(false);
    expect(pool.state('big')).toMatchObject({ loaded: true, pinned: false, uses: 1 });
  });

  it('stops being loaded when the pool goes', async () => {
    const pinned = pool.pin('big');
    await pool[Symbol.asyncDispose]();
    expect(engine.stopped).toBe(true);
    await expect(pinned).rejects.toMatchObject({ name: 'MODEL_LOAD_FAILED' });
  });
});
