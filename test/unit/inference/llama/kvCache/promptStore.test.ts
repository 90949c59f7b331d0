import { mkdtemp, readdir, rm, stat, utimes, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { DiskQuota } from '../../../../../src/base/diskCache.ts';
import { StateStore } from '../../../../../src/inference/llama/cacheFiles.ts';
import { PromptStore } from '../../../../../src/inference/llama/cacheFiles.ts';
import { failFiles } from '../../../../helpers/failingFiles.ts';
import { fileService } from '../../../../../src/inference/process/fileServices.ts';

let cache = '';
let states: StateStore;
beforeEach(async () => {
  cache = await mkdtemp(join(tmpdir(), 'turngraph-'));
  states = new StateStore(cache, new DiskQuota(1e6));
});
afterEach(async () => {
  await states[Symbol.asyncDispose]();
  await rm(cache, { recursive: true });
});

const open = (maxBytes = 1000): PromptStore => new PromptStore(cache, new DiskQuota(maxBytes));
const filesIn = (): Promise<string[]> => readdir(join(cache, 'prompts')).catch(() => []);

/** Saves a prompt of these tokens as a file of so many bytes. */
async function save(store: PromptStore, tokens: readonly number[], bytes = 100, key = 'model', files = states) {
  const file = await writeState(bytes, files);
  const saved = file && (await store.save({ key, tokens }, file));
  await file?.drop();
  return saved;
}

async function writeState(bytes: number, files = states) {
  const file = await files.reserve(bytes, () => undefined);
  if (file) await writeFile(file.path, 'x'.repeat(bytes));
  return file;
}

const tokensOf = async (store: PromptStore, key = 'model'): Promise<readonly (readonly number[])[]> =>
  (await store.list(key)).map(({ tokens }) => tokens);

describe('the files of the prompt cache', () => {
  it('are listed by their key, by later servers too, and saved once', async () => {
    const store = open();
    await save(store, [1, 2]);
    await save(store, [1, 3], 100, 'other');
    expect(await save(store, [1, 2])).toMatchObject({ tokens: [1, 2] });
    for (const server of [store, open()]) {
      expect(await tokensOf(server)).toEqual([[1, 2]]);
      expect(await tokensOf(server, 'other')).toEqual([[1, 3]]);
    }
    expect(await filesIn()).toHaveLength(4);
  });

  it('appear to and vanish from servers that use the folder at the same time', async () => {
    const [one, other] = [open(), open()];
    expect(await tokensOf(other)).toEqual([]);
    const saved = await save(one, [1, 2]);
    expect(await tokensOf(other)).toEqual([[1, 2]]);
    await one.open(saved?.id ?? '');
    await one.close(saved?.id ?? '', false);
    expect(await other.open(saved?.id ?? '')).toBeUndefined();
    expect(await tokensOf(other)).toEqual([]);
  });

  it('are saved once by servers that started before either had saved them', async () => {
    const [one, other] = [open(), open()];
    const saved = await save(one, [1, 2]);
    expect(await save(other, [1, 2], 120)).toMatchObject({ id: saved?.id, bytes: 100 });
    for (const server of [one, other]) {
      expect(await server.open(saved?.id ?? '')).toBeDefined();
      await server.close(saved?.id ?? '', true);
    }
    expect(await filesIn()).toHaveLength(2);
  });

  it('make room for others: those go first that were not used for the longest time', async () => {
    const store = open(250);
    const first = await save(store, [1]);
    await save(store, [2]);
    await store.open(first?.id ?? '');
    await store.close(first?.id ?? '', true);
    await save(store, [3]);
    expect(await tokensOf(store)).toEqual([[1], [3]]);
    await utimes(join(cache, 'prompts', `${first?.id}.json`), new Date(0), new Date(0));
    expect(await tokensOf(open(150))).toEqual([[3]]);
    expect(await filesIn()).toHaveLength(2);
  });

  it('share a limit with swapped states, and are not deleted while they are read', async () => {
    const quota = new DiskQuota(250);
    await using shared = new StateStore(cache, quota);
    const store = new PromptStore(cache, quota);
    const saved = await save(store, [1], 100, 'model', shared);
    await store.open(saved?.id ?? '');
    const state = await shared.reserve(200, () => undefined);
    expect(state).toBeUndefined();
    await store.close(saved?.id ?? '', true);
    expect(await shared.reserve(200, () => undefined)).toBeDefined();
    expect(await tokensOf(store)).toEqual([]);
    expect(await save(store, [2], 100, 'model', shared)).toBeUndefined();
  });

  it('do not come of what could not be written, and nothing is left of it', async () => {
    const errors: unknown[] = [];
    const store = new PromptStore(cache, new DiskQuota(1000), (error) => errors.push(error));
    const file = await writeState(100);
    await rm(file?.path ?? '');
    expect(file && (await store.save({ key: 'model', tokens: [1] }, file))).toBeUndefined();
    expect(errors).toMatchObject([{ code: 'ENOENT' }]);
    expect(await filesIn()).toEqual([]);
  });

  it('need no more room than their state while they are saved', async () => {
    const quota = new DiskQuota(150);
    await using shared = new StateStore(cache, quota);
    const store = new PromptStore(cache, quota);
    expect(await save(store, [1], 100, 'model', shared)).toMatchObject({ tokens: [1], bytes: 100 });
    expect(quota.bytes).toBe(100);
  });

  it('leave nothing when the header cannot be written', async () => {
    const quota = new DiskQuota(1000);
    const store = new PromptStore(cache, quota);
    using _ = failFiles('ENOSPC', (path) => path.endsWith('.json.new'), ['open']);
    expect(await save(store, [1])).toBeUndefined();
    expect(await filesIn()).toEqual([]);
    expect(quota.bytes).toBe(0);
  });

  it('count once that two engine processes save at the same time', async () => {
    const quota = new DiskQuota(1000);
    const store = new PromptStore(cache, quota);
    for (const saved of await Promise.all([save(store, [1]), save(store, [1])]))
      expect(saved).toMatchObject({ tokens: [1] });
    expect(quota.bytes).toBe(100);
    expect(await tokensOf(store)).toEqual([[1]]);
  });

  it('are deleted when an engine process ends while it reads them, and so are those that it was writing', async () => {
    const store = open();
    const saved = await save(store, [1]);
    const service = fileService({ states, prompts: store }, () => undefined);
    const request = <T>(params: T) => ({
      params,
      signal: AbortSignal.abort(),
      paused: () => undefined,
      emit: () => {},
    });
    const path = await service.handlers.reserveState(request({ bytes: 100 }));
    await writeFile(path ?? '', 'half');
    await service.handlers.openPrompt(request({ id: saved?.id ?? '' }));
    await service[Symbol.asyncDispose]();
    await expect(stat(path ?? '')).rejects.toThrow('ENOENT');
    expect(await filesIn()).toEqual([]);
    expect(await tokensOf(store)).toEqual([]);
  });

  it('that a killed server has left half are deleted after an hour, and files of others never', async () => {
    await save(open(), [1]);
    const [id = ''] = (await filesIn()).map((name) => name.split('.')[0] ?? '');
    const folder = join(cache, 'prompts');
    const left = [`${'a'.repeat(64)}.0123456789ab.part`, `${'b'.repeat(64)}.state`, `${'c'.repeat(64)}.json.new`];
    for (const name of [...left, 'notes.txt']) await writeFile(join(folder, name), 'x');
    await open().list('model');
    expect(await filesIn()).toHaveLength(6);
    for (const name of [...left, 'notes.txt']) await utimes(join(folder, name), new Date(0), new Date(0));
    await open().list('model');
    expect((await filesIn()).toSorted()).toEqual([`${id}.json`, `${id}.state`, 'notes.txt'].toSorted());
    expect((await stat(join(folder, `${id}.state`))).size).toBe(100);
  });
});
