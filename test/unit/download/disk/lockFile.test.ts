import { access, mkdir, readFile, rm, writeFile } from 'node:fs/promises';
import { hostname } from 'node:os';
import { dirname, join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { acquireLock } from '../../../../src/download/disk/lockFile.ts';
import { seededBytes } from '../../../helpers/fakeHub.ts';
import { useDownloadFixture, catchFault, tinyModel } from '../../../integration/download/downloadFixture.ts';

const scene = useDownloadFixture();
const path = (file = 'model.gguf'): string => join(scene().folder, 'ann', 'tiny', file);
const lockPath = (file?: string): string => `${path(file)}.lock`;
const lockByAnother = async (file?: string): Promise<void> => {
  await mkdir(dirname(lockPath(file)), { recursive: true });
  // Nobody in this process made that token, so its holder had the number of this process before.
  await writeFile(lockPath(file), JSON.stringify({ pid: process.pid, host: hostname(), token: 'theirs' }));
};

describe('a stale lock that cannot be taken away', () => {
  // The lock still fits into the longest name of a file system, and the longer one that it is to be moved to does not.
  const file = `${'m'.repeat(230)}.gguf`;

  it('is told to who wants the file, instead of asking for ever', async () => {
    await lockByAnother(file);
    await expect(acquireLock(path(file))).rejects.toMatchObject({ code: 'ENAMETOOLONG', path: lockPath(file) });
  });

  it('ends a download with 6001, the place and the mend, and lets the downloads be closed', async () => {
    scene().hub.files.set(`ann/tiny/${file}`, { content: seededBytes(1000) });
    await lockByAnother(file);
    const downloads = scene().createDownloads();
    expect(await catchFault(downloads.start(tinyModel({ files: [file] }), {}))).toEqual([
      6001,
      `${lockPath(file)} cannot be written or read: the system refuses it (ENAMETOOLONG); choose another folder with --models`,
    ]);
    await downloads[Symbol.asyncDispose]();
  });
});

describe('a lock that is held', () => {
  beforeEach(() => void vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval', 'Date'] }));
  afterEach(() => void vi.useRealTimers());

  const busy = async (): Promise<string> => {
    throw Object.assign(new Error('too many open files'), { code: 'EMFILE' });
  };
  const isThere = (): Promise<boolean> =>
    access(lockPath()).then(
      () => true,
      () => false,
    );

  it('is not lost when a beat cannot read it, and goes with its holder', async () => {
    const read = vi.fn(busy);
    const lock = await acquireLock(path(), read);
    await vi.advanceTimersByTimeAsync(10_000);
    expect(read).toHaveBeenCalledOnce();
    await lock.check();
    await lock[Symbol.asyncDispose]();
    expect(await isThere()).toBe(false);
  });

  it('is looked at again after a sleep, and nobody is said to have it when it could not be read', async () => {
    const read = vi.fn((file: string) => readFile(file, 'utf8')).mockImplementationOnce(busy);
    await using lock = await acquireLock(path(), read);
    vi.setSystemTime(Date.now() + 60_000);
    await expect(lock.check()).rejects.toMatchObject({ code: 'EMFILE' });
    await lock.check();
  });

  it.each([
    ['it is gone', () => rm(lockPath())],
    ['another has it', () => lockByAnother()],
  ])('is lost when %s, and nothing of the other is taken away', async (_, happens) => {
    const lock = await acquireLock(path());
    await happens();
    const before = await isThere();
    vi.setSystemTime(Date.now() + 60_000);
    expect((await catchFault(lock.check()))[0]).toBe(6001);
    await lock[Symbol.asyncDispose]();
    expect(await isThere()).toBe(before);
  });
});
