import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { readLlamaLicense, readNodeLicense, readPackageLicense } from '../../../../src/cli/bundle/planBundle.ts';
import { repositoryPath } from '../../../helpers/server.ts';

let folder = '';
beforeAll(async () => void (folder = await mkdtemp(join(tmpdir(), 'turngraph-'))));
afterAll(() => rm(folder, { recursive: true }));

async function write(path: string, text: string): Promise<string> {
  await mkdir(join(folder, path, '..'), { recursive: true });
  await writeFile(join(folder, path), text);
  return join(folder, path);
}

const nodeLicense = (year: number): string => `Node.js is licensed for use as follows:\n\nCopyright ${year}`;
const nodeAt = (path: string, version = '24.11.1') => ({ path, platform: 'linux-x64', version }) as const;

describe('the licence of a package', () => {
  const packageIn = (name: string, license: string) => ({
    name,
    version: '1.0.0',
    license,
    author: 'Ada <ada@example.org>',
    folder: join(folder, name),
  });

  it('is all its texts', async () => {
    await write('two/LICENSE-MIT.txt', 'mit\r\ntext\n\n');
    await write('two/NOTICE', 'notice');
    await write('two/license.js', 'code');
    expect((await readPackageLicense(packageIn('two', 'MIT'))).text).toBe('mit\ntext\n\nnotice\n');
  });

  it('is that of MIT where it has no text but names it', async () => {
    await write('none/package.json', '{}');
    const { text } = await readPackageLicense(packageIn('none', 'MIT'));
    expect(text).toContain('(The package has no licence text');
    expect(text).toContain('Copyright (c) Ada\n');
    expect(text).toContain('Permission is hereby granted');
  });

  it('is missing where it has no text and names another', async () => {
    await write('bsd/package.json', '{}');
    await expect(readPackageLicense(packageIn('bsd', 'BSD-3-Clause'))).rejects.toThrow(
      'has no licence text, and its package.json says "BSD-3-Clause": it cannot be in a bundle',
    );
  });
});

describe('the licence of Node', () => {
  it.each([
    ['of an archive for Windows', 'win/LICENSE', 'win/node.exe'],
    ['of another archive', 'linux/LICENSE', 'linux/bin/node'],
    ['of a package of Debian', 'usr/share/doc/nodejs/LICENSE', 'usr/bin/node'],
  ])('is found beside the program %s', async (_, license, program) => {
    await write(license, nodeLicense(2001));
    const node = nodeAt(await write(program, ''));
    expect(await readNodeLicense(node, '')).toMatchObject({
      name: 'Node.js',
      version: '24.11.1',
      text: `${nodeLicense(2001)}\n`,
    });
  });

  it('is the file that is given', async () => {
    const given = await write('given.txt', nodeLicense(2002));
    expect((await readNodeLicense(nodeAt(join(folder, 'linux/bin/node')), given)).text).toContain('2002');
  });

  it.each([
    ['is not there', 'absent.txt', undefined, 'absent.txt cannot be read: it is not there'],
    ['is another', 'other.txt', 'MIT License', 'other.txt is not the LICENSE of Node: it must begin with "Node.js is'],
  ])('is refused where the given file %s', async (_, name, text, message) => {
    if (text !== undefined) await write(name, text);
    await expect(readNodeLicense(nodeAt('/nowhere/node'), join(folder, name))).rejects.toThrow(message);
  });

  it.each(['20', '22', '24', '26'])(
    'is that of its major version %s where there is no file beside it',
    async (major) => {
      const { text } = await readNodeLicense(nodeAt('/nowhere/bin/node', `${major}.3.1`), '');
      expect(text.split('\n')[0]).toBe('Node.js is licensed for use as follows:');
      expect(text.length).toBeGreaterThan(100_000);
    },
  );

  it('must be given where it is not known', async () => {
    await expect(readNodeLicense(nodeAt('/nowhere/bin/node', '31.0.0'), '')).rejects.toThrow(
      'the licence text of Node 31.0.0 is not known: give --node-license the LICENSE of its archive',
    );
  });
});

describe('the licence of llama.cpp', () => {
  it('is that of the release in the library, with what it contains', async () => {
    const readJson = async (path: string) => JSON.parse(await readFile(repositoryPath(path), 'utf8')) as object;
    const { tag } = (await readJson('node_modules/node-llama-cpp/llama/llama.cpp.info.json')) as { tag: string };
    expect(await readJson('licenses/sources.json')).toMatchObject({ 'llama.cpp.txt': { version: tag } });
    const { text } = await readLlamaLicense(tag);
    for (const part of ['The ggml authors', 'Niels Lohmann', 'httplib', 'Mozilla Foundation'])
      expect(text).toContain(part);
  });
});
