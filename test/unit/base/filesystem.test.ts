import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { execFileSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { mkdir, mkdtemp, rm, stat, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DiskQuota } from '../../../src/base/diskCache.ts';
import { describeFsError, findPathProblem, makeFolder, readRegularFile } from '../../../src/base/filesystem.ts';
import { GraphFolder } from '../../../src/graph/compile/graphFolder.ts';
import { PromptStore } from '../../../src/inference/llama/cacheFiles.ts';
import { readCatalogue } from '../../../src/inference/models/catalogue/catalogue.ts';
import { readFilePurpose, readKvCacheShape } from '../../../src/inference/llama/gguf/metadata.ts';
import { readGguf } from '../../../src/inference/llama/gguf/validateFile.ts';
import { isSkipped } from '../../helpers/requirements.mjs';

describe('makeFolder', () => {
  let root = '';
  beforeEach(async () => void (root = await mkdtemp(join(tmpdir(), 'turngraph-'))));
  afterEach(() => rm(root, { recursive: true }));

  it('creates a folder and its parents with the given mode', async () => {
    await makeFolder(join(root, 'a', 'b', 'c'), 0o700);
    for (const path of ['a', 'a/b', 'a/b/c']) expect((await stat(join(root, path))).mode & 0o77, path).toBe(0);
  });

  it('accepts existing folders and concurrent calls', async () => {
    await makeFolder(root);
    await Promise.all([makeFolder(join(root, 'a', 'b')), makeFolder(join(root, 'a', 'b'))]);
    await symlink(join(root, 'a'), join(root, 'link'));
    await makeFolder(join(root, 'link'));
    expect(existsSync(join(root, 'link', 'b'))).toBe(true);
  });

  it('fails when a file is in the place of a folder', async () => {
    const file = join(root, 'file');
    await writeFile(file, '');
    await expect(makeFolder(file)).rejects.toMatchObject({ code: 'EEXIST', path: file });
    await expect(makeFolder(join(file, 'a', 'b'))).rejects.toMatchObject({ code: 'EEXIST', path: file });
  });

  it.skipIf(isSkipped('systemError'))('fails when the system does not allow it', async () => {
    await expect(makeFolder('/proc/turngraph/a')).rejects.toMatchObject({ code: 'ENOENT', path: '/proc/turngraph' });
  });
});

describe('describeFsError', () => {
  it.each([
    ['a file to read that is not there', { code: 'ENOENT', syscall: 'open' }, 'it is not there (ENOENT)'],
    [
      'a folder that cannot be created',
      { code: 'ENOENT', syscall: 'mkdir' },
      'it is not there, and cannot be made (ENOENT)',
    ],
    [
      'a file above the limit of its disk',
      { code: 'EFBIG', syscall: 'write' },
      'it is larger than its disk, or a limit, permits (EFBIG)',
    ],
  ])('says why, of %s', (_, error, reason) => {
    expect(describeFsError(error)).toBe(reason);
  });
});

describe('readRegularFile', () => {
  let root = '';
  beforeEach(async () => void (root = await mkdtemp(join(tmpdir(), 'turngraph-'))));
  afterEach(() => rm(root, { recursive: true }));

  it('reads a file, also through a link', async () => {
    await writeFile(join(root, 'a.txt'), 'content');
    await symlink(join(root, 'a.txt'), join(root, 'link'));
    expect((await readRegularFile(join(root, 'link'))).toString()).toBe('content');
  });

  it('refuses a folder and a missing file', async () => {
    await expect(readRegularFile(root)).rejects.toMatchObject({ code: 'EISDIR' });
    await expect(readRegularFile(join(root, 'none'))).rejects.toMatchObject({ code: 'ENOENT' });
  });

  it.skipIf(isSkipped('fifo'))('does not wait for the writer of a FIFO', async () => {
    const fifo = join(root, 'lamp.json');
    execFileSync('mkfifo', [fifo]);
    await expect(readRegularFile(fifo)).rejects.toMatchObject({ code: 'ENOTREG' });
    await expect(new GraphFolder(root).read('lamp')).rejects.toThrow(
      'graph "lamp" cannot be read: it is not a regular',
    );
    await expect(readGguf(fifo)).rejects.toThrow('it is no file');
    expect(await readFilePurpose(fifo)).toBe('chat');
    expect(await readKvCacheShape(fifo)).toBeUndefined();
    await expect(readCatalogue(fifo)).rejects.toThrow('cannot be read: it is not a regular file');
    await mkdir(join(root, 'prompts'));
    execFileSync('mkfifo', [join(root, 'prompts', `${'a'.repeat(64)}.json`)]);
    expect(await new PromptStore(root, new DiskQuota(1000)).list('model')).toEqual([]);
  });
});

describe('a graphs folder that cannot be read', () => {
  it('is not reported as an empty one', async () => {
    const path = 'a'.repeat(300);
    await expect(new GraphFolder(path).read('lamp')).rejects.toThrow('the graphs folder cannot be read: ');
  });
});

describe('a relative path', () => {
  it.each([
    'model.gguf',
    'Q4_K_M/model-00001-of-00002.gguf',
    'a b.gguf',
    '.hidden',
    'console.gguf',
    'com.gguf',
    'COM10.gguf',
    'nullable',
    'Modèle-日本.gguf',
  ])('names the same file on every system: %s', (path) => expect(findPathProblem(path)).toBeUndefined());

  it.each([
    ['', 'empty part'],
    ['/x.gguf', 'empty part'],
    ['a//x.gguf', 'empty part'],
    ['a/', 'empty part'],
    ['../x.gguf', '".."'],
    ['a/./x.gguf', '"."'],
    ['CON', 'a device'],
    ['con', 'a device'],
    ['NUL.gguf', 'a device'],
    ['nul.tar.gz', 'a device'],
    ['aux .gguf', 'a device'],
    ['a/PRN/x.gguf', 'a device'],
    ['COM1', 'a device'],
    ['lpt9.gguf', 'a device'],
    ['COM².gguf', 'a device'],
    ['CONIN$', 'a device'],
    ['x.gguf.', 'dot or space'],
    ['x.gguf ', 'dot or space'],
    ['a./x.gguf', 'dot or space'],
    ['.. /x.gguf', 'dot or space'],
    ['...', 'dot or space'],
    ['x.gguf:stream', '":"'],
    ['a\\x.gguf', '"\\\\"'],
    ['a\u0007.gguf', '"\\u0007"'],
    ['a\u0085.gguf', 'in it, which no file name'],
    ['a*.gguf', '"*"'],
  ])('does not: %j', (path, reason) => expect(findPathProblem(path)).toContain(reason));
});
