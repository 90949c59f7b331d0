import { mkdir, mkdtemp, readdir, readFile, rm, utimes, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { DiskCache, DiskQuota } from '../../../src/base/diskCache.ts';

let parent = '';
beforeEach(async () => void (parent = await mkdtemp(join(tmpdir(), 'turngraph-'))));
afterEach(() => rm(parent, { recursive: true }));

const [a, b, c] = ['a'.repeat(64), 'b'.repeat(64), 'c'.repeat(64)] as const;
const folder = (): string => join(parent, 'files');
const filesIn = async (): Promise<string[]> => (await readdir(folder())).toSorted();

/** A cache of entries with two files; `bad` in the first one makes an entry useless. */
const open = (maxBytes = 100, quota = new DiskQuota(maxBytes)): DiskCache<string> => {
  const cache: DiskCache<string> = new DiskCache({
    folder: folder(),
    quota,
    extensions: ['json', 'data'],
    read: async (id, bytes) => {
      const content = await readFile(cache.pathOf(id), 'utf8');
      return content === 'bad' ? undefined : { bytes, content };
    },
  });
  return cache;
};

async function write(name: string, text = '0123456789', age = 0): Promise<void> {
  await mkdir(folder(), { recursive: true });
  const usedAt = new Date(Date.now() - age);
  await writeFile(join(folder(), name), text);
  await utimes(join(folder(), name), usedAt, usedAt);
}

const day = 86_400_000;

describe('a disk cache', () => {
  it('finds what earlier servers have written, and forgets what others delete', async () => {
    await write(`${a}.json`, 'content');
    const cache = open();
    await cache.scan();
    expect([...cache.entries].map(([id, { content, bytes }]) => [id, content, bytes])).toEqual([[a, 'content', 7]]);
    await rm(cache.pathOf(a));
    await cache.scan();
    expect(cache.entries.size).toBe(0);
  });

  it('keeps those that were used last, by the times of their first files', async () => {
    await write(`${a}.json`, '0123456789', 3 * day);
    await write(`${b}.json`, '0123456789', day);
    await write(`${c}.json`, '0123456789', 2 * day);
    await open().touch(a);
    const cache = open(20);
    await cache.scan();
    expect([...cache.entries.keys()]).toEqual([b, a]);
    expect(await filesIn()).toEqual([`${a}.json`, `${b}.json`]);
  });

  it('deletes what cannot be used, and what was not finished an hour ago, and no file of others', async () => {
    const unfinished = [`${b}.data`, `${b}.json.new`, `${c}.0123456789ab.part`, `${c}.data.0123456789ab.part`];
    for (const name of [...unfinished, `${a}.data`, 'notes.txt', `${a}.txt`]) await write(name, 'x', day);
    await write(`${a}.json`, 'good', day);
    await write(`${c}.json`, 'bad');
    await write(`${c}.ba9876543210.part`);
    await open().scan();
    const left = [`${a}.data`, `${a}.json`, `${a}.txt`, `${c}.ba9876543210.part`, 'notes.txt'];
    expect(await filesIn()).toEqual(left);
  });

  it('evicts all files of an entry that is not in use, and nothing for what has no room anyway', async () => {
    const cache = open(25);
    await write(`${a}.json`);
    await write(`${a}.data`);
    expect(await cache.add(a, { bytes: 20, content: '' }, true)).toBeDefined();
    expect(await cache.add(b, { bytes: 20, content: '' })).toBeUndefined();
    expect(await filesIn()).toHaveLength(2);
    Object.assign(cache.entries.get(a) ?? {}, { inUse: false });
    expect(await cache.add(b, { bytes: 20, content: '' })).toBeDefined();
    expect([[...cache.entries.keys()], await filesIn()]).toEqual([[b], []]);
  });

  it('shares its quota with other caches', async () => {
    const quota = new DiskQuota(25);
    const onDrop = (): unknown => dropped.push('other');
    const dropped: string[] = [];
    await quota.add({ paths: [join(parent, 'other')], bytes: 20, inUse: false, onDrop });
    await open(0, quota).add(a, { bytes: 20, content: '' });
    expect([dropped, quota.bytes]).toEqual([['other'], 20]);
  });

  it('gives paths of drafts in a folder that other users cannot read, each a new one', async () => {
    const cache = open();
    const paths = await Promise.all([cache.createDraftPath(a), cache.createDraftPath(a)]);
    expect(new Set(paths).size).toBe(2);
    for (const path of paths) expect(path).toMatch(/\.[0-9a-f]{12}\.part$/);
    expect(await filesIn()).toEqual([]);
  });
});
