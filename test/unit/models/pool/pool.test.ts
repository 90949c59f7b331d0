import { mkdir, mkdtemp, readdir, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { Downloads } from '../../../../src/download/downloads.ts';
import type { Engine, LoadOptions, Model } from '../../../../src/engine/engine.ts';
import { mockEngine } from '../../../../src/engine/mock/engine.ts';
import { Fault } from '../../../../src/fault.ts';
import { readCatalogue, type Catalogue } from '../../../../src/models/catalogue/catalogue.ts';
import { ModelPool, type ModelLease } from '../../../../src/models/pool/pool.ts';
import { modelHandlers } from '../../../../src/session/modelHandlers.ts';
import type { Session } from '../../../../src/session/session.ts';

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

/** An engine whose models take their time to leave the memory: others could look for the files and load them meanwhile. */
class LingeringEngine implements Engine {
  readonly name = 'lingering';
  readonly needsFiles = true;
  readonly #mock = mockEngine();
  #alive = 0;
  /** Models that were in memory at the same time, at the most. */
  most = 0;
  beginsToLeave = (): void => undefined;
  readonly leaving = new Promise<void>((resolve) => (this.beginsToLeave = resolve));

  async load(file: string, options: LoadOptions): Promise<Model> {
    const model = await this.#mock.load(file, options);
    this.most = Math.max(this.most, ++this.#alive);
    const free = async (): Promise<void> => {
      this.beginsToLeave();
      for (let times = 0; times < 50; times++) await stat(file).catch(() => undefined);
      this.#alive--;
    };
    return Object.assign(model, { [Symbol.asyncDispose]: free });
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
    pool = new ModelPool(engine, { catalogue, idleMs: 60_000, slots: 1, threads: 1, gpu: 'off' });
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
    const using = pool.lease('big');
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

describe('a model that leaves the memory', () => {
  const both = ['a.gguf', 'b.gguf'];
  let folder: string;
  let engine: LingeringEngine;
  let downloads: Downloads;
  let pool: ModelPool;

  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), 'turngraph-'));
    await bring();
    const file = join(folder, 'models.json');
    const variants = [{ engine: 'llama-cpp', huggingface_repo: 'ann/big', files: both }];
    await writeFile(file, JSON.stringify({ models: [{ name: 'big', variants }] }));
    downloads = new Downloads(folder, { env: { HF_HUB_CACHE: join(folder, 'cache') } });
    engine = new LingeringEngine();
    const fileOf = downloads.findFile.bind(downloads);
    const catalogue = await readCatalogue(file);
    pool = new ModelPool(engine, { catalogue, idleMs: 60_000, slots: 1, threads: 1, gpu: 'off', findFile: fileOf });
    await (await pool.lease('big'))[Symbol.asyncDispose]();
  });
  afterEach(async () => {
    await pool[Symbol.asyncDispose]();
    await rm(folder, { recursive: true });
  });

  /** Puts the files of the model where a download would. */
  const bring = async (): Promise<void> => {
    await mkdir(join(folder, 'ann', 'big'), { recursive: true });
    for (const file of both) await writeFile(join(folder, 'ann', 'big', file), 'weights');
  };
  const files = async (): Promise<readonly string[]> => (await readdir(join(folder, 'ann', 'big'))).sort();
  /** Deletes the model as a client does. */
  const removal = (): Promise<void> => {
    const context = { pools: { 'llama-cpp': pool }, downloads };
    const session = { pool, context, signal: new AbortController().signal } as unknown as Session;
    return modelHandlers.deleteModel(session, { modelName: 'big' }, () => undefined);
  };

  it('is loaded anew when it has gone, and never beside itself', async () => {
    const freed = pool.unpin('big');
    await using use = await pool.lease('big');
    await freed;
    expect(use.name).toBe('big');
    expect(engine.most).toBe(1);
  });

  it.each([
    ['has it already', async () => undefined, 'MODEL_IN_USE'],
    ['asks for it while it is freed', () => engine.leaving, 'MODEL_NOT_ON_DISK'],
    [
      'asks for it when one of its files is gone',
      async () => {
        while ((await files()).includes('a.gguf')) await sleep(0);
      },
      'MODEL_NOT_ON_DISK',
    ],
  ])('is deleted whole or not at all when an agent %s', async (_, moment, fault) => {
    const removing = removal();
    const using = moment().then(() => pool.lease('big'));
    const [removed, used] = await Promise.allSettled([removing, using]);
    const kept = fault === 'MODEL_IN_USE';
    const [refused, done] = kept ? [removed, used] : [used, removed];
    expect(refused).toMatchObject({ status: 'rejected', reason: { name: fault } });
    expect(done).toMatchObject({ status: 'fulfilled' });
    expect(await files()).toEqual(kept ? both : []);
  });

  it('is downloaded again, once it is deleted, for an agent that may and asked meanwhile', async () => {
    const removing = removal();
    await engine.leaving;
    const waited: string[] = [];
    const using: Promise<ModelLease> = pool.lease('big', {
      onWait: () => waited.push('waits'),
      download: async () => {
        waited.push(`fetches beside ${(await files()).length} files`);
        await bring();
      },
    });
    expect(waited).toEqual(['waits']);
    await removing;
    await using use = await using;
    expect(use.name).toBe('big');
    expect(waited).toContain('fetches beside 0 files');
    expect(engine.most).toBe(1);
  });

  it('is refused to one that deletes it again with the reason that it is gone', async () => {
    const outcomes = await Promise.allSettled([removal(), removal()]);
    expect(outcomes).toMatchObject([{ status: 'fulfilled' }, { reason: { name: 'MODEL_NOT_ON_DISK' } }]);
    await expect(pool.lease('big')).rejects.toMatchObject({ name: 'MODEL_NOT_ON_DISK' });
  });
});
