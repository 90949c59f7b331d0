import { copyFile, mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { Downloads } from '../../../../../src/inference/download/downloads.ts';
import { parseCatalogue } from '../../../../../src/inference/models/catalogue/catalogue.ts';
import { measuredSpeeds } from '../../../../../src/inference/models/suggestions/measuredSpeeds.ts';
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
    const speeds = measuredSpeeds({ downloads, folder: join(folder, 'cache'), gpu: 'auto' });
    const [first] = catalogue.models.values();
    if (first) await speeds.record(first, 40);
    const measured = await Promise.all([...catalogue.models.values()].map((entry) => speeds.read(entry)));
    const once = { measuredRate: 40, measuredTurns: 1 };
    expect(measured).toEqual([once, {}, {}, {}, once]);
  });

  const speedsOf = (name: string) => {
    const variants = [{ engine: 'llama-cpp', local_path: '.', files: ['m.gguf'] }];
    const catalogue = parseCatalogue(JSON.stringify({ models: [{ name, variants }] }), join(folder, 'models.json'));
    const [entry] = [...catalogue.models.values()].slice(-1);
    if (!entry) throw new Error('there is no model');
    const downloads = new Downloads(join(folder, 'models'));
    const open = () => measuredSpeeds({ downloads, folder: join(folder, name), gpu: 'auto' });
    return { entry, open };
  };

  it('is the best of the last five turns, so that busy ones do not count', async () => {
    const { entry, open } = speedsOf('busy');
    for (const rate of [190, 27, 25, 26, 25]) await open().record(entry, rate);
    expect(await open().read(entry)).toEqual({ measuredRate: 190, measuredTurns: 5 });
    await open().record(entry, 30);
    expect(await open().read(entry)).toEqual({ measuredRate: 30, measuredTurns: 5 });
  });

  it('is what a measurement of its own says, whatever turns said', async () => {
    const { entry, open } = speedsOf('measured');
    for (const rate of [190, 180]) await open().record(entry, rate);
    await open().replace(entry, 40);
    expect(await open().read(entry)).toEqual({ measuredRate: 40, measuredTurns: 3 });
  });

  it('is kept in memory while it cannot be written, and written with the next one', async () => {
    const { entry, open } = speedsOf('unwritable');
    const path = join(folder, 'unwritable');
    await writeFile(path, '');
    const speeds = open();
    await speeds.record(entry, 40);
    expect(await speeds.read(entry)).toEqual({ measuredRate: 40, measuredTurns: 1 });
    await rm(path);
    await speeds.record(entry, 50);
    expect(await open().read(entry)).toEqual({ measuredRate: 50, measuredTurns: 2 });
  });

  it.each(['{', '7', '{"a":7,"b":[],"c":["x"]}'])('is not known from a file with %s', async (text) => {
    const { entry, open } = speedsOf('garbled');
    await mkdir(join(folder, 'garbled'), { recursive: true });
    await writeFile(join(folder, 'garbled', 'speeds.json'), text);
    expect(await open().read(entry)).toEqual({});
    await open().record(entry, 40);
    expect(await open().read(entry)).toEqual({ measuredRate: 40, measuredTurns: 1 });
  });
});
