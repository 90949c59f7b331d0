import { mkdir, mkdtemp, rm, symlink, utimes, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { SessionStorages } from '../../../../src/graph/storage/sessionStorages.ts';
import { StorageRoot } from '../../../../src/graph/storage/storageRoot.ts';
import type { StringStorage } from '../../../../src/graph/storage/stringStorage.ts';

let folder = '';
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'turngraph-'));
  await mkdir(join(folder, 'game'));
});
afterEach(() => rm(folder, { recursive: true }));

/** Writes a file that was changed so many seconds ago. */
async function write(name: string, content: unknown, secondsAgo = 60): Promise<void> {
  const file = join(folder, name);
  await writeFile(file, JSON.stringify(content));
  const changed = new Date(Date.now() - secondsAgo * 1000);
  await utimes(file, changed, changed);
}

const limits = { entries: 10, bytes: 1000 };
const find = (
  name: string,
  session: Partial<typeof limits> & { readonly folder?: string } = {},
): Promise<StringStorage> =>
  new SessionStorages(new StorageRoot(folder, session.folder), 10, { ...limits, ...session }).find(name);

const list = (text: string) => [{ id: 'a', text }];

describe('a knowledge file', () => {
  it('is read once for all sessions', async () => {
    await write('lore.kb.json', list('old'));
    const [first, second] = await Promise.all([find('lore.kb.json'), find('lore.kb.json')]);
    expect(second).toBe(first);
    expect(await find('lore.kb.json')).toBe(first);
  });

  it('is read again after it has changed, or the file with its records', async () => {
    await write('lore.kb.json', { records_file: 'records.json' });
    await write('records.json', list('old'));
    const old = await find('lore.kb.json');
    await write('records.json', list('new'), 30);
    const renewed = await find('lore.kb.json');
    expect([old.list, renewed.list]).toEqual([['old'], ['new']]);
    await write('lore.kb.json', list('own'));
    expect((await find('lore.kb.json')).list).toEqual(['own']);
  });

  it('is not shared while it may change within the same tick of its clock', async () => {
    await write('lore.kb.json', list('old'), 0);
    const old = await find('lore.kb.json');
    await write('lore.kb.json', list('new'), 0);
    expect([old.list, (await find('lore.kb.json')).list]).toEqual([['old'], ['new']]);
  });

  it('counts for each session that uses it', async () => {
    await write('lore.kb.json', list('shared'));
    await find('lore.kb.json');
    await expect(find('lore.kb.json', { bytes: 10 })).rejects.toMatchObject({ name: 'LIMIT_EXCEEDED' });
    await expect(find('lore.kb.json', { entries: 0 })).rejects.toMatchObject({ name: 'LIMIT_EXCEEDED' });
  });

  it('is not shared with a session whose folder does not have its records', async () => {
    await write('records.json', list('outside'));
    await write('game/lore.kb.json', { records_file: 'records.json' });
    await symlink(join(folder, 'records.json'), join(folder, 'game', 'records.json'));
    expect((await find('game/lore.kb.json')).list).toEqual(['outside']);
    await expect(find('lore.kb.json', { folder: 'game' })).rejects.toMatchObject({ name: 'STORAGE_OUTSIDE_ROOT' });
  });
});
