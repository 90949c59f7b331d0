import { access, mkdir, readFile, rm, writeFile } from 'node:fs/promises';
import { hostname } from 'node:os';
import { dirname, join } from 'node:path';
import { setImmediate as yieldToEventLoop } from 'node:timers/promises';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { acquireLock } from '../../../../../src/inference/download/disk/lockFile.ts';
import { isWhole } from '../../../../helpers/depth.ts';
import { seededBytes } from '../../../../helpers/fakeHub.ts';
import { useDownloadFixture, catchFault, tinyModel } from '../../../../integration/download/downloadFixture.ts';

const fixture = useDownloadFixture();
const path = (file = 'model.gguf'): string => join(fixture().folder, 'ann', 'tiny', file);
const lockPath = (file?: string): string => `${path(file)}.lock`;
const lockByAnother = async (file?: string): Promise<void> => {
  await mkdir(dirname(lockPath(file)), { recursive: true });
  // This process did not create that token, so the lock is of an earlier process with the same id.
  await writeFile(lockPath(file), JSON.stringify({ pid: process.pid, host: hostname(), token: 'theirs' }));
};

describe('a stale lock that cannot be removed', () => {
  // The name of the lock file has the maximum length, so the longer name to which it is moved is invalid.
  const file = `${'m'.repeat(230)}.gguf`;

  it('is an error, instead of being retried for ever', async () => {
    await lockByAnother(file);
    await expect(acquireLock(path(file))).rejects.toMatchObject({ code: 'ENAMETOOLONG', path: lockPath(file) });
  });

  it('fails a download with 6001, the path and a hint', async () => {
    fixture().hub.files.set(`ann/tiny/${file}`, { content: seededBytes(1000) });
    await lockByAnother(file);
    const downloads = fixture().createDownloads();
    expect(await catchFault(downloads.start(tinyModel({ files: [file] }), {}))).toEqual([
      6001,
      `${lockPath(file)} cannot be written or read: the system refuses it (ENAMETOOLONG); choose another folder with --models`,
    ]);
    await downloads[Symbol.asyncDispose]();
  });
});

describe('a lock that several contend for', () => {
  it('is held by one of them at a time', async () => {
    let [inside, most] = [0, 0];
    const contend = async (): Promise<void> => {
      for (let rounds = 0; rounds < (isWhole ? 60 : 30);) {
        const lock = await acquireLock(path()).catch(() => undefined);
        if (!lock) continue;
        rounds++;
        most = Math.max(most, ++inside);
        await yieldToEventLoop();
        inside--;
        await lock[Symbol.asyncDispose]();
      }
    };
    await Promise.all([contend(), contend(), contend(), contend()]);
    expect(most).toBe(1);
  });
});

describe('an acquired lock', () => {
  beforeEach(() => void vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval', 'Date'] }));
  afterEach(() => void vi.useRealTimers());

  const failingRead = async (): Promise<string> => {
    throw Object.assign(new Error('too many open files'), { code: 'EMFILE' });
  };
  const exists = (): Promise<boolean> =>
    access(lockPath()).then(
      () => true,
      () => false,
    );

  it('survives a failing heartbeat, and is deleted when it is released', async () => {
    const read = vi.fn(failingRead);
    const lock = await acquireLock(path(), read);
    await vi.advanceTimersByTimeAsync(10_000);
    expect(read).toHaveBeenCalledOnce();
    await lock.check();
    await lock[Symbol.asyncDispose]();
    expect(await exists()).toBe(false);
  });

  it('is checked again after the machine has slept, even if reading fails once', async () => {
    const read = vi.fn((file: string) => readFile(file, 'utf8')).mockImplementationOnce(failingRead);
    await using lock = await acquireLock(path(), read);
    vi.setSystemTime(Date.now() + 60_000);
    await expect(lock.check()).rejects.toMatchObject({ code: 'EMFILE' });
    await lock.check();
  });

  it.each([
    ['its file was deleted', () => rm(lockPath())],
    ['another process has it', () => lockByAnother()],
  ])('is lost when %s, and leaves the file of the other process', async (_, loseLock) => {
    const lock = await acquireLock(path());
    await loseLock();
    const before = await exists();
    vi.setSystemTime(Date.now() + 60_000);
    expect((await catchFault(lock.check()))[0]).toBe(6001);
    await lock[Symbol.asyncDispose]();
    expect(await exists()).toBe(before);
  });
});
