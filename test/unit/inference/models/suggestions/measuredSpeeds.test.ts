import { copyFile, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { Downloads } from '../../../../../src/inference/download/downloads.ts';
import { parseCatalogue } from '../../../../../src/inference/models/catalogue/catalogue.ts';
import { MeasuredSpeeds } from '../../../../../src/inference/models/suggestions/measuredSpeeds.ts';
import { repositoryPath } from '../../../../helpers/server.ts';

let folder = '';
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'turngraph-'));
  await copyFile(repositoryPath('models/turngraph-demo.gguf'), join(folder, 'm.gguf'));
});
afterAll(() => rm(folder, { recursive: true }));

describe('the measured speed of a model', () => {
  it('is that of its file with the settings of its entry', async () => {
    const settings = { same: {}, cpu: { gpu: 'off' }, split: { gpu_layers: 3 }, small: { kv_cache_type: 'q4_0' } };
    const models = Object.entries(settings).map(([name, own]) => ({
      name,
      variants: [{ engine: 'llama-cpp', local_path: '.', files: ['m.gguf'], ...own }],
    }));
    models.push({ ...models[0], name: 'other' } as (typeof models)[number]);
    const catalogue = parseCatalogue(JSON.stringify({ models }), join(folder, 'models.json'));
    const downloads = new Downloads(join(folder, 'models'));
    const speeds = new MeasuredSpeeds({ downloads, folder: join(folder, 'cache'), gpu: 'auto' });
    const [first] = catalogue.models.values();
    if (first) await speeds.record(first, 40);
    const rates = await Promise.all([...catalogue.models.values()].map((entry) => speeds.read(entry)));
    expect(rates).toEqual([40, undefined, undefined, undefined, 40]);
  });
});
