import fs, { writeFileSync } from 'node:fs';
import { mkdir, mkdtemp, readFile, rename, rm, symlink, writeFile } from 'node:fs/promises';
import { syncBuiltinESMExports } from 'node:module';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it, onTestFinished, vi } from 'vitest';
import { FileWatcher, retryDelayMs } from '../../../../../src/inference/models/catalogue/fileWatcher.ts';
import { shortenTimers } from '../../../../helpers/shortTimers.ts';

let root = '';
let path = '';
let watcher: FileWatcher | undefined;
let seen: string[] = [];
let failures: string[] = [];

beforeEach(async () => {
  root = await mkdtemp(join(tmpdir(), 'turngraph-'));
  path = join(root, 'own', 'models.json');
  await mkdir(join(root, 'own'));
  await writeFile(path, 'first');
  [seen, failures] = [[], []];
});
afterEach(async () => {
  await watcher?.[Symbol.asyncDispose]();
  await rm(root, { recursive: true });
});

/** Watches the path until it was read for the first time. */
async function watchPath(): Promise<void> {
  watcher = new FileWatcher({
    path,
    async onChange() {
      seen.push(await readFile(path, 'utf8').catch(() => '(missing)'));
      return { retry: false };
    },
    onFailure: (reason) => failures.push(reason),
  });
  await untilSeen('first');
}

const untilSeen = (text: string): Promise<unknown> =>
  vi.waitFor(() => expect(seen.at(-1)).toBe(text), { timeout: 60_000, interval: 20 });

describe('a watched file', () => {
  it('is read again after it was written', async () => {
    await watchPath();
    await writeFile(path, 'second');
    await untilSeen('second');
  });

  it('is read again after an editor has replaced it, again and again', async () => {
    await watchPath();
    for (const text of ['second', 'third', 'fourth']) {
      await writeFile(`${path}.new`, text);
      await rename(`${path}.new`, path);
      await untilSeen(text);
    }
  });

  it('is read again when it was deleted, and when it is back', async () => {
    await watchPath();
    await rm(path);
    await untilSeen('(missing)');
    await writeFile(path, 'second');
    await untilSeen('second');
  });

  it('is read again when it is a link and its target changes, or another is linked', async () => {
    const target = join(root, 'elsewhere');
    await mkdir(target);
    await rename(path, join(target, 'file'));
    await symlink(join(target, 'file'), path);
    await watchPath();
    await writeFile(join(target, 'file'), 'second');
    await untilSeen('second');
    await mkdir(join(root, 'third'));
    await writeFile(join(root, 'third', 'file'), 'third');
    await symlink(join(root, 'third', 'file'), `${path}.new`);
    await rename(`${path}.new`, path);
    await untilSeen('third');
    await writeFile(join(root, 'third', 'file'), 'fourth');
    await untilSeen('fourth');
  });

  it('is read again when its folder was replaced', async () => {
    await watchPath();
    await mkdir(join(root, 'new'));
    await writeFile(join(root, 'new', 'models.json'), 'second');
    await rename(join(root, 'own'), join(root, 'old'));
    await rename(join(root, 'new'), join(root, 'own'));
    await untilSeen('second');
    await writeFile(path, 'third');
    await untilSeen('third');
  });

  it('reports once that its folder is gone, and goes on when it is back', async () => {
    shortenTimers(retryDelayMs);
    await watchPath();
    await rename(join(root, 'own'), join(root, 'old'));
    await vi.waitFor(() => expect(failures).toHaveLength(1), { timeout: 60_000 });
    expect(failures[0]).toContain(`${join(root, 'own')}: `);
    await rename(join(root, 'old'), join(root, 'own'));
    await writeFile(path, 'second');
    await untilSeen('second');
    expect(failures).toHaveLength(1);
  });

  it('is read every few seconds when the system watches no more files, and the reason is not a full disk', async () => {
    shortenTimers(retryDelayMs);
    const { watch } = fs;
    fs.watch = () => {
      throw Object.assign(new Error('no space left on device, watch'), { code: 'ENOSPC' });
    };
    syncBuiltinESMExports();
    onTestFinished(() => {
      fs.watch = watch;
      syncBuiltinESMExports();
    });
    await watchPath();
    await writeFile(path, 'second');
    await untilSeen('second');
    expect(failures).toEqual([
      `${join(root, 'own')}: the system watches no more files (ENOSPC); raise fs.inotify.max_user_watches`,
    ]);
  });

  it('is read once for many changes at a time', async () => {
    await watchPath();
    // No timer can fire in between.
    for (let count = 0; count < 50; count++) writeFileSync(path, String(count));
    await untilSeen('49');
    expect(seen.length).toBeLessThan(5);
  });

  it('is no longer watched after the watcher was disposed of', async () => {
    await watchPath();
    await writeFile(path, 'second');
    await watcher?.[Symbol.asyncDispose]();
    const { length } = seen;
    await writeFile(path, 'third');
    // A second watcher of the same file shows when the first one would have been told.
    const marks: string[] = [];
    await using _ = new FileWatcher({
      path,
      async onChange() {
        marks.push('');
        return { retry: false };
      },
      onFailure: () => undefined,
    });
    await vi.waitFor(() => expect(marks).toHaveLength(1), 60_000);
    await writeFile(path, 'fourth');
    await vi.waitFor(() => expect(marks.length).toBeGreaterThan(1), { timeout: 60_000 });
    expect(seen).toHaveLength(length);
  });
});
