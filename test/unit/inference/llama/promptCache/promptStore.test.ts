import { mkdtemp, readdir, rm, stat, utimes, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { DiskQuota } from '../../../../../src/base/diskCache.ts';
import { StateStore } from '../../../../../src/inference/llama/kvCache/stateStore.ts';
import { PromptStore } from '../../../../../src/inference/llama/promptCache/promptStore.ts';
import { failFiles } from '../../../../helpers/failingFiles.ts';
import { PromptService } from '../../../../../src/inference/process/fileServices.ts';

let cache = '';
beforeEach(async () => void (cache = await mkdtemp(join(tmpdir(), 'turngraph-'))));
afterEach(() => rm(cache, { recursive: true }));

const open = (maxBytes = 1000): PromptStore => new PromptStore(cache, new DiskQuota(maxBytes));
const filesIn = (): Promise<string[]> => readdir(join(cache, 'prompts')).catch(() => []);

/** Saves a prompt of these tokens as a file of so many bytes. */
async function save(store: PromptStore, tokens: readonly number[], bytes = 100, key = 'model') {
  const created = await store.create({ key, tokens, bytes });
  if (!created) return undefined;
  await writeFile(created.path, 'x'.repeat(bytes));
  return store.finish(created.draft, undefined);
}

const tokensOf = async (store: PromptStore, key = 'model'): Promise<readonly (readonly number[])[]> =>
  (await store.list(key)).map(({ tokens }) => tokens);

describe('the files of the prompt cache', () => {
  it('are listed by their key, by later servers too, and saved once', async () => {
    const store = open();
    await save(store, [1, 2]);
    await save(store, [1, 3], 100, 'other');
    expect(await save(store, [1, 2])).toBeUndefined();
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
    await using states = new StateStore(cache, quota);
    const store = new PromptStore(cache, quota);
    const saved = await save(store, [1]);
    await store.open(saved?.id ?? '');
    const state = await states.reserve(200, () => undefined);
    expect(state).toBeUndefined();
    await store.close(saved?.id ?? '', true);
    expect(await states.reserve(200, () => undefined)).toBeDefined();
    expect(await tokensOf(store)).toEqual([]);
    expect(await save(store, [2])).toBeUndefined();
  });

  it('do not come of what could not be written, and nothing is left of it', async () => {
    const errors: unknown[] = [];
    const store = new PromptStore(cache, new DiskQuota(1000), (error) => errors.push(error));
    const created = await store.create({ key: 'model', tokens: [1], bytes: 100 });
    await writeFile(created?.path ?? '', 'half');
    expect(await store.finish(created?.draft ?? '', 'the disk is full')).toBeUndefined();
    expect(errors).toMatchObject([{ message: 'the disk is full' }]);
    expect(await filesIn()).toEqual([]);
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
    const drafts = [1, 2].map(() => store.create({ key: 'model', tokens: [1], bytes: 100 }));
    for (const draft of await Promise.all(drafts)) {
      await writeFile(draft?.path ?? '', 'x'.repeat(100));
      expect(await store.finish(draft?.draft ?? '', undefined)).toMatchObject({ tokens: [1] });
    }
    expect(quota.bytes).toBe(100);
    expect(await tokensOf(store)).toEqual([[1]]);
  });

  it('are deleted when an engine process ends while it reads them, and so are those that it was writing', async () => {
    const store = open();
    const saved = await save(store, [1]);
    const service = new PromptService(store);
    const request = <T>(params: T) => ({
      params,
      signal: AbortSignal.abort(),
      paused: () => undefined,
      emit: () => {},
    });
    const created = await service.handlers.createPrompt(request({ key: 'model', tokens: [2], bytes: 100 }));
    await writeFile(created?.path ?? '', 'half');
    await service.handlers.openPrompt(request({ id: saved?.id ?? '' }));
    await service[Symbol.asyncDispose]();
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
