import { mkdtemp, readdir, rm, writeFile } from 'node:fs/promises';
import { syncBuiltinESMExports } from 'node:module';
import os, { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { threadTimingsCache } from '../../../../../src/inference/llama/threads/threadTimingsCache.ts';
import { failFiles } from '../../../../helpers/failingFiles.ts';

const [one, two] = [
  { file: '/models/one.gguf', size: 1 },
  { file: '/models/two.gguf', size: 2 },
];
const timings = new Map([[1, 5]]);
const { loadavg } = os;
let folder = '';
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'turngraph-'));
  // Timings of a machine under load are not stored.
  os.loadavg = () => [0, 0, 0];
  syncBuiltinESMExports();
});
afterEach(async () => {
  os.loadavg = loadavg;
  syncBuiltinESMExports();
  await rm(folder, { recursive: true });
});

describe('the cache of thread timings', () => {
  it('keeps the timings of other models when its file cannot be read for want of file handles', async () => {
    const cache = threadTimingsCache(folder);
    await cache.set(one, 4, timings);
    {
      using _ = failFiles('EMFILE', (path) => path.endsWith('threads.json'));
      await cache.set(two, 4, timings);
    }
    expect(await cache.get(one, 4)).toEqual(timings);
    await cache.set(two, 4, timings);
    expect(await cache.get(two, 4)).toEqual(timings);
  });

  it('leaves no draft behind on a full disk', async () => {
    using _ = failFiles('ENOSPC', (path) => path.startsWith(folder), ['rename']);
    await threadTimingsCache(folder).set(one, 4, timings);
    expect(await readdir(folder)).toEqual([]);
  });

  it('starts anew when a killed process or a user has left half a file', async () => {
    await writeFile(join(folder, 'threads.json'), '{"model": [[1,');
    const cache = threadTimingsCache(folder);
    expect(await cache.get(one, 4)).toBeUndefined();
    await cache.set(one, 4, timings);
    expect(await cache.get(one, 4)).toEqual(timings);
  });
});
