import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { readNodeBinary } from '../../../../src/cli/bundle/planBundle.ts';
import { bundlePlatforms, platformOf } from '../../../../src/cli/bundle/platforms.ts';
import { writeNodeBinary } from '../../../helpers/nodeBinaries.ts';

let folder = '';
beforeAll(async () => void (folder = await mkdtemp(join(tmpdir(), 'turngraph-'))));
afterAll(() => rm(folder, { recursive: true }));

describe('a Node program', () => {
  it.each(bundlePlatforms)('is read without being started, for %s', async (platform) => {
    const path = await writeNodeBinary(join(folder, platform), platform);
    expect(await readNodeBinary(path)).toEqual({ path, platform, version: '24.11.1' });
  });

  it('is that of this process', async () => {
    const expected = { platform: platformOf(process), version: process.versions.node };
    expect(await readNodeBinary(process.execPath)).toMatchObject(expected);
  });

  it.each([
    ['is not there', async () => undefined, 'cannot be read: it is not there (ENOENT)'],
    ['is a folder', async () => undefined, 'it is a folder (EISDIR)', '.'],
    ['is a script', (path: string) => writeFile(path, '#!/bin/sh\n'.repeat(20)), 'is no program for a system that'],
    ['is empty', (path: string) => writeFile(path, ''), 'is no program for a system that'],
    [
      'is for another processor',
      (path: string) => writeNodeBinary(path, 'linux-s390x'),
      'is no program for a system that',
    ],
    ['is another program', (path: string) => writeNodeBinary(path, 'win-x64', ''), 'is no Node that runs alone'],
    [
      'is too old',
      (path: string) => writeNodeBinary(path, 'win-x64', '18.20.4'),
      'is Node 18.20.4; turngraph needs 20',
    ],
  ])('that %s is refused', async (name, write, message, file = name) => {
    const path = join(folder, file);
    await write(path);
    await expect(readNodeBinary(path)).rejects.toThrow(message);
  });
});
