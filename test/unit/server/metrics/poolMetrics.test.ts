import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Engine, Model } from '../../../../src/inference/contract/engine.ts';
import type { ModelStats } from '../../../../src/inference/contract/memory.ts';
import { mockEngine } from '../../../../src/inference/mock/engine.ts';
import { Metrics } from '../../../../src/server/metrics/metrics.ts';
import { type Catalogue, readCatalogue } from '../../../../src/inference/models/catalogue/catalogue.ts';
import { createMeteredPool } from '../../../../src/server/metrics/poolMetrics.ts';
import type { ModelPool } from '../../../../src/inference/models/pool/pool.ts';
import { defaultSampling } from '../../../../src/inference/contract/samplingParams.ts';
import { parseScrape, type Scrape } from '../../../helpers/prometheus.ts';

const specialName = 'a "model"\\of mine, {le="1"}';

/** An engine whose models report the stats that a test sets, and whose loads can fail. */
class FakeEngine implements Engine {
  readonly name = 'puppet';
  readonly needsFiles = false;
  readonly #mock = mockEngine({ contextSize: 64 });
  stats: Partial<ModelStats> = {};
  fails = false;

  async load(...args: Parameters<Engine['load']>): Promise<Model> {
    if (this.fails) throw new Error('no memory');
    const model = await this.#mock.load(...args);
    const originalStats = model.stats.bind(model);
    return Object.assign(model, { stats: () => ({ ...originalStats(), ...this.stats }) });
  }

  [Symbol.asyncDispose](): PromiseLike<void> {
    return this.#mock[Symbol.asyncDispose]();
  }
}

describe('the metrics of a pool', () => {
  let folder: string;
  let catalogue: Catalogue;

  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'turngraph-'));
    const file = join(folder, 'models.json');
    const models = [specialName, 'other'].map((name) => ({
      name,
      variants: [{ engine: 'llama-cpp', files: ['x.gguf'] }],
    }));
    await writeFile(file, JSON.stringify({ models }));
    catalogue = await readCatalogue(file);
  });
  afterAll(() => rm(folder, { recursive: true }));

  const createPool = (engine: Engine, metrics: Metrics): ModelPool =>
    createMeteredPool(
      engine,
      { catalogue, idleMs: 60_000, slots: 1, threads: 1, gpu: 'off', onLoaded: () => {}, onSpeed: () => {} },
      metrics,
    );
  const scrape = async (metrics: Metrics): Promise<Scrape> => parseScrape(await metrics.text());

  /** Calls `work` with a loaded model, and unloads it afterwards. */
  const withLoadedModel = async (pool: ModelPool, work: (model: Model) => Promise<void>): Promise<void> => {
    await pool.pin(specialName);
    const use = await pool.lease(specialName);
    await work(use.model);
    await use[Symbol.asyncDispose]();
    await pool.unpin(specialName);
  };

  it('keep their counters of states when a model is loaded again or its engine restarts', async () => {
    const metrics = new Metrics();
    const engine = new FakeEngine();
    await using pool = createPool(engine, metrics);
    const totals = async (): Promise<readonly unknown[]> => {
      const scraped = await scrape(metrics);
      return ['states_saved', 'states_restored', 'prompts_restored'].map((name) =>
        scraped.value(`turngraph_${name}_total`, { engine: 'puppet', model: specialName }),
      );
    };
    await withLoadedModel(pool, async () => {
      engine.stats = { statesSaved: 3, statesRestored: 1, promptsRestored: 2 };
      expect(await totals()).toEqual([3, 1, 2]);
      engine.stats = { statesSaved: 5, statesRestored: 2, promptsRestored: 7 };
    });
    expect(await totals()).toEqual([5, 2, 7]);
    engine.stats = { statesSaved: 0, statesRestored: 0, promptsRestored: 0 };
    await withLoadedModel(pool, async () => {
      expect(await totals()).toEqual([5, 2, 7]);
      engine.stats = { statesSaved: 4, statesRestored: 4, promptsRestored: 1 };
      expect(await totals()).toEqual([9, 6, 8]);
      engine.stats = { statesSaved: 1, statesRestored: 0, promptsRestored: 1 };
      expect(await totals()).toEqual([10, 6, 8]);
    });
    expect(await totals()).toEqual([10, 6, 8]);
  });

  it('contain the stats of a model only while it is loaded', async () => {
    const metrics = new Metrics();
    const engine = new FakeEngine();
    await using pool = createPool(engine, metrics);
    engine.stats = {
      backend: 'cuda',
      gpuLayers: 7,
      threads: 3,
      prefillThreads: 8,
      slots: 4,
      slotsBusy: 2,
      waiting: 1,
      checkpointBytes: 88,
      stateBytes: 99,
    };
    const labels = { engine: 'puppet', model: specialName };
    await withLoadedModel(pool, async () => {
      const scraped = await scrape(metrics);
      const values = [
        'model_gpu_layers',
        'model_threads',
        'model_prefill_threads',
        'slots',
        'slots_busy',
        'slots_waiting',
        'checkpoint_bytes',
        'state_bytes',
      ];
      expect(values.map((name) => scraped.value(`turngraph_${name}`, labels))).toEqual([7, 3, 8, 4, 2, 1, 88, 99]);
      expect(scraped.value('turngraph_model_info', { ...labels, backend: 'cuda' })).toBe(1);
      expect(scraped.value('turngraph_model_pinned', labels)).toBe(1);
      expect(scraped.value('turngraph_model_loaded', { model: 'other' })).toBeUndefined();
    });
    const scraped = await scrape(metrics);
    expect(scraped.value('turngraph_model_loaded', labels)).toBe(0);
    expect(scraped.value('turngraph_slots', labels)).toBeUndefined();
  });

  it('count failed generations and loads', async () => {
    const metrics = new Metrics();
    const engine = new FakeEngine();
    await using pool = createPool(engine, metrics);
    await withLoadedModel(pool, async (model) => {
      await using sequence = model.openSequence();
      const prompt = { messages: [{ role: 'user', text: 'apple '.repeat(500) }] } as const;
      const generating = sequence.generate(prompt, { sampling: defaultSampling, signal: new AbortController().signal });
      await expect(generating).rejects.toMatchObject({ name: 'PROMPT_TOO_LARGE' });
    });
    engine.fails = true;
    await expect(pool.lease('other')).rejects.toThrow('no memory');
    await expect(pool.lease('unknown')).rejects.toMatchObject({ name: 'UNKNOWN_MODEL' });
    const scraped = await scrape(metrics);
    expect(scraped.value('turngraph_generations_total', { stopped: 'failed', model: specialName })).toBe(1);
    expect(scraped.value('turngraph_prompt_tokens_total')).toBeUndefined();
    expect(scraped.value('turngraph_model_load_failures_total', { model: 'other' })).toBe(1);
    expect(scraped.value('turngraph_model_load_failures_total', { model: 'unknown' })).toBeUndefined();
    expect(scraped.value('turngraph_model_load_duration_seconds_count')).toBe(1);
  });
});
