import { mkdir, mkdtemp, readdir, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { DiskQuota } from '../../../../../src/base/diskCache.ts';
import { PromptStore, StateStore, type StateFile } from '../../../../../src/inference/llama/cacheFiles.ts';
import { fileService } from '../../../../../src/inference/process/fileServices.ts';
import type { EngineRequests, ServerRequests } from '../../../../../src/inference/process/messages.ts';
import { Peer, type RequestHandlers } from '../../../../../src/inference/process/peer.ts';

const noHandlers = <Handlers>(): Handlers => ({}) as Handlers;

describe('the state store', () => {
  let cache: string;
  let quota: DiskQuota;
  let store: StateStore;
  beforeEach(async () => {
    cache = await mkdtemp(join(tmpdir(), 'turngraph-'));
    quota = new DiskQuota(100);
    store = new StateStore(cache, quota);
  });
  afterEach(async () => {
    await store[Symbol.asyncDispose]();
    await rm(cache, { recursive: true });
  });

  /** Saves a state of this size; its name is added to `dropped` when it is evicted. */
  async function saveState(bytes: number, dropped: string[] = [], name = ''): Promise<StateFile | undefined> {
    const file = await store.reserve(bytes, () => dropped.push(name));
    if (!file) return undefined;
    await writeFile(file.path, Buffer.alloc(bytes));
    file.commit(bytes);
    return file;
  }

  it('evicts the least recently used state', async () => {
    const dropped: string[] = [];
    for (const name of ['a', 'b', 'c']) await saveState(40, dropped, name);
    expect(dropped).toEqual(['a']);
    expect(quota.bytes).toBe(80);
    const [ownFolder] = await readdir(join(cache, 'states'));
    expect(await readdir(join(cache, 'states', ownFolder ?? ''))).toHaveLength(2);
    expect((await stat(join(cache, 'states', ownFolder ?? ''))).mode & 0o77).toBe(0);
  });

  it('evicts no state that is being read or written', async () => {
    const dropped: string[] = [];
    const read = await saveState(40, dropped, 'read');
    read?.beginRead();
    const writing = await store.reserve(40, () => dropped.push('writing'));
    expect(writing).toBeDefined();
    expect(await saveState(40)).toBeUndefined();
    expect(dropped).toEqual([]);
    await read?.drop();
    expect(await saveState(40)).toBeDefined();
  });

  it('rejects a state above its quota', async () => {
    expect(await saveState(101)).toBeUndefined();
    expect(quota.bytes).toBe(0);
  });

  it('reserves space although a file cannot be deleted', async () => {
    const stuck = await saveState(80);
    await rm(stuck?.path ?? '');
    await mkdir(stuck?.path ?? '');
    expect(await saveState(80)).toBeDefined();
    expect(await saveState(80)).toBeDefined();
    expect(quota.bytes).toBe(80);
  });

  it('tells an engine process why it cannot write', async () => {
    await writeFile(join(cache, 'states'), 'a file where the folder should be');
    const { handlers } = fileService({ states: store, prompts: new PromptStore(cache, quota) }, () => undefined);
    const engine: Peer<ServerRequests, EngineRequests> = new Peer((messages) => server.receive(messages), noHandlers());
    const server: Peer<EngineRequests, ServerRequests> = new Peer((messages) => engine.receive(messages), {
      ...noHandlers<RequestHandlers<ServerRequests>>(),
      ...handlers,
    });
    await expect(engine.request('reserveState', { bytes: 40 }).result).rejects.toThrow(/EEXIST|ENOTDIR/);
    expect(quota.bytes).toBe(0);
  });

  it('can be recreated after its folder was deleted', async () => {
    await saveState(40);
    await rm(join(cache, 'states'), { recursive: true });
    await expect(saveState(40)).rejects.toThrow('ENOENT');
    store.writeFailed(new Error('the disk is full'));
    expect(await saveState(40)).toBeDefined();
  });
});
