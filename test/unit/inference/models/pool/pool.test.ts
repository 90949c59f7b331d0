import { mkdir, mkdtemp, readdir, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { Downloads } from '../../../../../src/inference/download/downloads.ts';
import type { Engine, LoadOptions, Model } from '../../../../../src/inference/contract/engine.ts';
import { mockEngine } from '../../../../../src/inference/mock/engine.ts';
import { Fault } from '../../../../../src/protocol/fault.ts';
import { type Catalogue, readCatalogue } from '../../../../../src/inference/models/catalogue/catalogue.ts';
import type { ModelLease } from '../../../../../src/inference/models/pool/lease.ts';
import { ModelPool } from '../../../../../src/inference/models/pool/pool.ts';
import { modelHandlers } from '../../../../../src/server/session/modelHandlers.ts';
import type { Session } from '../../../../../src/server/session/session.ts';

/** An engine whose loads wait until a test calls `finish`, or until they are aborted. */
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

/** An engine whose models are disposed of slowly, so that other work can run in between. */
class SlowDisposalEngine implements Engine {
  readonly name = 'lingering';
  readonly needsFiles = true;
  readonly #mock = mockEngine();
  #alive = 0;
  /** Maximum of models in memory at the same time. */
  maxLoaded = 0;
  onDisposal = (): void => undefined;
  readonly disposing = new Promise<void>((resolve) => (this.onDisposal = resolve));

  async load(file: string, options: LoadOptions): Promise<Model> {
    const model = await this.#mock.load(file, options);
    this.maxLoaded = Math.max(this.maxLoaded, ++this.#alive);
    const dispose = async (): Promise<void> => {
      this.onDisposal();
      for (let times = 0; times < 50; times++) await stat(file).catch(() => undefined);
      this.#alive--;
    };
    return Object.assign(model, { [Symbol.asyncDispose]: dispose });
  }

  [Symbol.asyncDispose](): PromiseLike<void> {
    return this.#mock[Symbol.asyncDispose]();
  }
}

describe('a model that is loaded by pin', () => {
  let folder: string;
  let catalogue: Catalogue;
  let engine: SlowEngine;
  let pool: ModelPool;
  let closing: AbortController;
  const reason = new Fault('SERVER_SHUTTING_DOWN', 'the server is shutting down');

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

  it('stops loading when the signal of its only waiter is aborted', async () => {
    const pin = pool.pin('big', { signal: closing.signal });
    expect(pool.state('big')).toMatchObject({ loaded: false, pinned: true, uses: 1 });
    closing.abort(reason);
    await expect(pin).rejects.toBe(reason);
    expect(pool.state('big')).toMatchObject({ pinned: false, uses: 0 });
    expect(pool.loading).toEqual([]);
    await pool[Symbol.asyncDispose]();
    expect(engine.stopped).toBe(true);
  });

  it('continues loading for an agent when the signal of the pin is aborted', async () => {
    const pin = pool.pin('big', { signal: closing.signal });
    const lease = pool.lease('big');
    closing.abort(reason);
    await expect(pin).rejects.toBe(reason);
    engine.finish();
    await using use = await lease;
    expect(use.name).toBe('big');
    expect(engine.stopped).toBe(false);
    expect(pool.state('big')).toMatchObject({ loaded: true, pinned: false, uses: 1 });
  });

  it('stops loading when the pool is disposed of', async () => {
    const pin = pool.pin('big');
    await pool[Symbol.asyncDispose]();
    expect(engine.stopped).toBe(true);
    await expect(pin).rejects.toMatchObject({ name: 'MODEL_LOAD_FAILED' });
  });
});

describe('a model that is being unloaded', () => {
  const modelFiles = ['a.gguf', 'b.gguf'];
  let folder: string;
  let engine: SlowDisposalEngine;
  let downloads: Downloads;
  let pool: ModelPool;

  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), 'turngraph-'));
    await writeFiles();
    const file = join(folder, 'models.json');
    const variants = [{ engine: 'llama-cpp', huggingface_repo: 'ann/big', files: modelFiles }];
    await writeFile(file, JSON.stringify({ models: [{ name: 'big', variants }] }));
    downloads = new Downloads(folder, { env: { HF_HUB_CACHE: join(folder, 'cache') } });
    engine = new SlowDisposalEngine();
    const findFiles = downloads.locate.bind(downloads);
    const catalogue = await readCatalogue(file);
    pool = new ModelPool(engine, { catalogue, idleMs: 60_000, slots: 1, threads: 1, gpu: 'off', findFiles });
    await (await pool.lease('big'))[Symbol.asyncDispose]();
  });
  afterEach(async () => {
    await pool[Symbol.asyncDispose]();
    await rm(folder, { recursive: true });
  });

  /** Writes the files of the model like a download does. */
  const writeFiles = async (): Promise<void> => {
    await mkdir(join(folder, 'ann', 'big'), { recursive: true });
    for (const file of modelFiles) await writeFile(join(folder, 'ann', 'big', file), 'GGUF weights');
  };
  const listFiles = async (): Promise<readonly string[]> => (await readdir(join(folder, 'ann', 'big'))).sort();
  /** Deletes the model like a request of a client does. */
  const deleteModel = (): Promise<void> => {
    const context = { pools: { 'llama-cpp': pool }, downloads };
    const session = { pool, context, signal: new AbortController().signal } as unknown as Session;
    return modelHandlers.deleteModel(session, { modelName: 'big' }, () => undefined);
  };

  it('is loaded again only when it was disposed of', async () => {
    const freed = pool.unpin('big');
    await using use = await pool.lease('big');
    await freed;
    expect(use.name).toBe('big');
    expect(engine.maxLoaded).toBe(1);
  });

  it.each([
    ['uses it already', async () => undefined, 'MODEL_IN_USE'],
    ['requests it while it is disposed of', () => engine.disposing, 'MODEL_NOT_ON_DISK'],
    [
      'requests it when one of its files is deleted',
      async () => {
        while ((await listFiles()).includes('a.gguf')) await sleep(0);
      },
      'MODEL_NOT_ON_DISK',
    ],
  ])('is deleted completely or not at all when an agent %s', async (_, waitForStage, fault) => {
    const deletion = deleteModel();
    const lease = waitForStage().then(() => pool.lease('big'));
    const [removed, used] = await Promise.allSettled([deletion, lease]);
    const kept = fault === 'MODEL_IN_USE';
    const [rejected, fulfilled] = kept ? [removed, used] : [used, removed];
    expect(rejected).toMatchObject({ status: 'rejected', reason: { name: fault } });
    expect(fulfilled).toMatchObject({ status: 'fulfilled' });
    expect(await listFiles()).toEqual(kept ? modelFiles : []);
  });

  it('is downloaded again after its deletion for an agent that requested it during that', async () => {
    const deletion = deleteModel();
    await engine.disposing;
    const events: string[] = [];
    const lease: Promise<ModelLease> = pool.lease('big', {
      onWait: () => events.push('waiting'),
      download: async () => {
        events.push(`downloading with ${(await listFiles()).length} files`);
        await writeFiles();
      },
    });
    expect(events).toEqual(['waiting']);
    await deletion;
    await using use = await lease;
    expect(use.name).toBe('big');
    expect(events).toContain('downloading with 0 files');
    expect(engine.maxLoaded).toBe(1);
  });

  it('cannot be deleted twice', async () => {
    // Which of the two comes first is up to the disk.
    const outcomes = await Promise.allSettled([deleteModel(), deleteModel()]);
    expect(outcomes.filter(({ status }) => status === 'fulfilled')).toHaveLength(1);
    expect(outcomes).toContainEqual(
      expect.objectContaining({ reason: expect.objectContaining({ name: 'MODEL_NOT_ON_DISK' }) as unknown }),
    );
    await expect(pool.lease('big')).rejects.toMatchObject({ name: 'MODEL_NOT_ON_DISK' });
  });
});
