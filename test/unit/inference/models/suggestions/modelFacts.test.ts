import { cp, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { Downloads } from '../../../../../src/inference/download/downloads.ts';
import { parseCatalogue } from '../../../../../src/inference/models/catalogue/catalogue.ts';
import { measuredSpeeds } from '../../../../../src/inference/models/suggestions/measuredSpeeds.ts';
import { readAllFacts } from '../../../../../src/inference/models/suggestions/modelFacts.ts';
import { repositoryPath } from '../../../../helpers/server.ts';

let folder = '';
beforeAll(async () => void (folder = await mkdtemp(join(tmpdir(), 'turngraph-'))));
afterAll(() => rm(folder, { recursive: true }));

describe('what is known of the files of models', () => {
  it('is read from a file once, until the file changes', async () => {
    const file = join(folder, 'm-00001-of-00002.gguf');
    const variants = [{ engine: 'llama-cpp', local_path: '.', files: ['m-00001-of-00002.gguf'] }];
    const text = JSON.stringify({ models: [{ name: 'm', variants }] });
    const catalogue = parseCatalogue(text, join(folder, 'models.json'));
    const downloads = new Downloads(join(folder, 'models'));
    const speeds = measuredSpeeds({ downloads, folder: undefined, gpu: 'auto' });
    const sources = { downloads, speeds };
    const read = async () => (await readAllFacts(catalogue, sources))[0];
    await cp(repositoryPath('models/turngraph-demo.gguf'), file);
    const first = await read();
    expect(first).toMatchObject({ status: 'LOCAL', problem: expect.stringContaining('part 2 of 2 is missing') });
    const locate = vi.spyOn(downloads, 'locate');
    const second = await read();
    expect(second?.shape).toBe(first?.shape);
    expect(second?.file).toBe(file);
    expect(locate).toHaveBeenCalledTimes(1);
    await writeFile(join(folder, 'm-00002-of-00002.gguf'), 'GGUF');
    expect((await read())?.problem).toContain('it ends in the middle of its header');
    await writeFile(file, '<!doctype html>');
    expect(await read()).toMatchObject({ problem: expect.stringContaining('it is no GGUF file'), shape: undefined });
  });
});
