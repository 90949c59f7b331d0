import { mkdir, mkdtemp, readdir, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { StateStore, type StateFile } from '../../../../../src/engine/llama/kvCache/stateStore.ts';

describe('the folder of states', () => {
  let cache: string;
  let folder: StateStore;
  beforeEach(async () => {
    cache = await mkdtemp(join(tmpdir(), 'turngraph-'));
    folder = new StateStore(cache, 100);
  });
  afterEach(async () => {
    await folder[Symbol.asyncDispose]();
    await rm(cache, { recursive: true });
  });

  /** A state of so many bytes; its name is added to `dropped` when it has to go. */
  async function put(bytes: number, dropped: string[] = [], name = ''): Promise<StateFile | undefined> {
    const slot = await folder.reserve(bytes, () => dropped.push(name));
    if (!slot) return undefined;
    await writeFile(slot.path, Buffer.alloc(bytes));
    slot.commit(bytes);
    return slot;
  }

  it('makes room by dropping what has lain longest', async () => {
    const dropped: string[] = [];
    for (const name of ['a', 'b', 'c']) await put(40, dropped, name);
    expect(dropped).toEqual(['a']);
    expect(folder.bytes).toBe(80);
    const [own] = await readdir(join(cache, 'states'));
    expect(await readdir(join(cache, 'states', own ?? ''))).toHaveLength(2);
    expect((await stat(join(cache, 'states', own ?? ''))).mode & 0o77).toBe(0);
  });

  it('drops nothing that is being read or written', async () => {
    const dropped: string[] = [];
    const read = await put(40, dropped, 'read');
    read?.beginRead();
    const writing = await folder.reserve(40, () => dropped.push('writing'));
    expect(writing).toBeDefined();
    expect(await put(40)).toBeUndefined();
    expect(dropped).toEqual([]);
    await read?.drop();
    expect(await put(40)).toBeDefined();
  });

  it('takes nothing that is larger than all of it', async () => {
    expect(await put(101)).toBeUndefined();
    expect(folder.bytes).toBe(0);
  });

  it('gives room although a file cannot be removed', async () => {
    const stuck = await put(80);
    await rm(stuck?.path ?? '');
    await mkdir(stuck?.path ?? '');
    expect(await put(80)).toBeDefined();
    expect(await put(80)).toBeDefined();
    expect(folder.bytes).toBe(80);
  });

  it('is made again after somebody has removed it', async () => {
    await put(40);
    await rm(join(cache, 'states'), { recursive: true });
    await expect(put(40)).rejects.toThrow('ENOENT');
    folder.recreate();
    expect(await put(40)).toBeDefined();
  });
});
