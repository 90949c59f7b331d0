import { spawnSync } from 'node:child_process';
import { mkdir, mkdtemp, readdir, readFile, rm, stat, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { BundleFile } from '../../../../src/cli/bundle/bundlePart.ts';
import { writeBundle } from '../../../../src/cli/commands/bundle.ts';
import { isSkipped } from '../../../helpers/requirements.mjs';
import { SmallDisk } from '../../../helpers/smallDisk.ts';

let root = '';
beforeEach(async () => void (root = await mkdtemp(join(tmpdir(), 'turngraph-'))));
afterEach(() => rm(root, { recursive: true }));

const never = new AbortController().signal;
const text = (path: string, content = path): BundleFile => ({ path, content: { text: content } });

describe('a bundle', () => {
  it('is written into a folder that is not there, with its parents', async () => {
    await writeFile(join(root, 'source'), 'copied', { mode: 0o600 });
    const folder = join(root, 'a', 'b c');
    const files = [
      text('top'),
      { path: 'below/it', content: { copyOf: join(root, 'source') } },
      { ...text('start'), isExecutable: true },
    ];
    await writeBundle(folder, files, never);
    expect(await readFile(join(folder, 'below', 'it'), 'utf8')).toBe('copied');
    expect(await readdir(join(root, 'a'))).toEqual(['b c']);
    if (process.platform === 'win32') return;
    const modes = ['.', 'top', 'below/it', 'start'].map(async (path) => (await stat(join(folder, path))).mode & 0o777);
    expect(await Promise.all(modes)).toEqual([0o755, 0o644, 0o644, 0o755]);
  });

  it('is written into an empty folder', async () => {
    await writeBundle(root, [text('file')], never);
    expect(await readdir(root)).toEqual(['file']);
  });

  it('is written into the empty folder that a symbolic link leads to', async () => {
    await mkdir(join(root, 'target'));
    await symlink(join(root, 'target'), join(root, 'link'), 'junction');
    await writeBundle(join(root, 'link'), [text('file')], never);
    expect(await readdir(join(root, 'target'))).toEqual(['file']);
    expect(await readdir(join(root, 'link'))).toEqual(['file']);
    expect((await readdir(root)).toSorted()).toEqual(['link', 'target']);
  });

  it.each([
    ['a folder with a file', 'full', 'is not empty: delete it, or name a folder that is not there yet'],
    ['a file', 'full/file', 'cannot be a bundle: a file is in the place of a folder (ENOTDIR)'],
    ['a folder below a file', 'full/file/below', 'cannot be a bundle: a file is in the place of a folder (ENOTDIR)'],
  ])('is not written into %s', async (_, name, message) => {
    await mkdir(join(root, 'full'));
    await writeFile(join(root, 'full', 'file'), 'mine');
    await expect(writeBundle(join(root, name), [text('new')], never)).rejects.toThrow(message);
    expect(await readdir(root, { recursive: true })).toEqual(['full', join('full', 'file')]);
  });

  it('removes its own drafts that no process writes any more, and nothing else', async () => {
    const ended = spawnSync(process.execPath, ['--version']).pid;
    const drafts = [`bundle.new-${ended}-aB3xYz`, `bundle.new-${process.pid}-aB3xYz`];
    const others = [
      `bundle.new-${process.ppid}-aB3xYz`,
      `bundle.new-${ended}-mine`,
      `other.new-${ended}-aB3xYz`,
      'bundle.new-aB3xYz',
      'bundle.new',
    ];
    for (const name of [...drafts, ...others]) await mkdir(join(root, name, 'below'), { recursive: true });
    const file = `bundle.new-${ended}-aB3xY0`;
    await writeFile(join(root, file), 'mine');
    await writeBundle(join(root, 'bundle'), [text('file')], never);
    expect((await readdir(root)).toSorted()).toEqual(['bundle', file, ...others].toSorted());
  });

  it('leaves nothing when it is aborted', async () => {
    const stop = new AbortController();
    const late: BundleFile = {
      path: 'below/second',
      get content() {
        stop.abort(new Error('stopped'));
        return { text: '' };
      },
    };
    await expect(writeBundle(join(root, 'bundle'), [text('first'), late, text('third')], stop.signal)).rejects.toThrow(
      'stopped',
    );
    expect(await readdir(root)).toEqual([]);
  });

  it('leaves nothing when it is aborted while a large file is copied', async () => {
    const large = join(root, 'large');
    await writeFile(large, Buffer.alloc(2 ** 26 + 1));
    const stop = new AbortController();
    const file: BundleFile = {
      path: 'model',
      get content() {
        setImmediate(() => stop.abort(new Error('stopped')));
        return { copyOf: large };
      },
    };
    await expect(writeBundle(join(root, 'bundle'), [file], stop.signal)).rejects.toThrow('stopped');
    expect(await readdir(root)).toEqual(['large']);
  });

  it('leaves nothing when a file of it has gone', async () => {
    const files = [text('first'), { path: 'second', content: { copyOf: join(root, 'gone') } }];
    await expect(writeBundle(join(root, 'bundle'), files, never)).rejects.toThrow(
      'bundle cannot be written: it is not there',
    );
    expect(await readdir(root)).toEqual([]);
  });

  it.skipIf(isSkipped('bundleDisk'))('leaves nothing on a disk that is full', async () => {
    await using disk = await SmallDisk.mount(256);
    const files = [text('first'), text('second', 'x'.repeat(2 ** 19))];
    await expect(writeBundle(join(disk.folder, 'bundle'), files, never)).rejects.toThrow('its disk is full (ENOSPC)');
    expect(await readdir(disk.folder)).toEqual([]);
  });
});
