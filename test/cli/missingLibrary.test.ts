import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { copyFile, cp, link, mkdir, mkdtemp, readdir, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { libraryPackage } from '../../src/inference/llama/libraryFault.ts';
import { repositoryPath, subprotocols, TestClient } from '../helpers/server.ts';
import type { Subprotocol } from '../../src/protocol/codec/codec.ts';
import { readFirstLine, untilExit } from './command.ts';

const packageName = libraryPackage(process) ?? '';
const modules = repositoryPath('node_modules');
let root = '';

// Without what no program reads.
const isRead = (path: string): boolean => !/\.(?:bundle|d\.ts|map)$/.test(path);

/** Gives the files of a folder a second place: as hard links, or as copies where that is on another disk. */
async function placeFiles(from: string, to: string): Promise<void> {
  for (const entry of await readdir(from, { recursive: true, withFileTypes: true })) {
    const source = join(entry.parentPath, entry.name);
    const target = join(to, source.slice(from.length));
    if (!entry.isFile() || !isRead(source)) continue;
    await mkdir(dirname(target), { recursive: true });
    await link(source, target).catch(() => copyFile(source, target));
  }
}

/**
 * An install of turngraph without a llama.cpp library: node-llama-cpp itself has real files there, because Node looks for the
 * library from its real place.
 */
async function install(root: string): Promise<void> {
  const own = join(root, 'node_modules');
  await mkdir(own, { recursive: true });
  for (const file of await readdir(modules)) {
    if (!['@node-llama-cpp', 'node-llama-cpp', '.bin'].includes(file))
      await symlink(join(modules, file), join(own, file));
  }
  await placeFiles(join(modules, 'node-llama-cpp'), join(own, 'node-llama-cpp'));
  for (const part of ['dist', 'models', 'graphs', 'proto']) await placeFiles(repositoryPath(part), join(root, part));
  for (const file of ['package.json', 'models.json']) await copyFile(repositoryPath(file), join(root, file));
}

beforeAll(async () => {
  root = await mkdtemp(join(tmpdir(), 'turngraph-'));
  await install(root);
});
afterAll(() => rm(root, { recursive: true }));

const cliOf = (root: string): string => join(root, 'dist', 'cli', 'turngraph.js');

interface Places {
  readonly commands: readonly string[];
  readonly codecs: readonly Subprotocol[];
}
const everywhere: Places = { commands: ['chat', 'run', 'doctor'], codecs: subprotocols };
/** The other sentence takes the same ways to a user. */
const one: Places = { commands: [], codecs: ['turngraph.v1.proto'] };

const argumentsOf: Readonly<Record<string, readonly string[]>> = {
  chat: ['chat', 'chat', '--gpu', 'off', '--engine-process', 'in'],
  run: ['run', 'chat', 'hello', '--gpu', 'off'],
  doctor: ['doctor', 'turngraph-demo', '--gpu', 'off'],
};

describe.each([
  [
    'is missing',
    everywhere,
    () => rm(join(root, 'node_modules', packageName), { recursive: true, force: true }),
    `the llama.cpp library is missing: the npm package ${packageName} is not installed; run npm install again without --omit=optional`,
  ],
  [
    'cannot be loaded',
    one,
    async () => {
      const target = join(root, 'node_modules', packageName);
      const keep = (source: string): boolean => !/\.(?:so|dylib|dll)$/.test(source);
      await cp(join(modules, packageName), target, { recursive: true, filter: keep });
      for (const bin of await readdir(join(target, 'bins')))
        await writeFile(join(target, 'bins', bin, 'llama-addon.node'), 'no library');
    },
    `the llama.cpp library of the npm package ${packageName} cannot be loaded (`,
  ],
])('an install whose llama.cpp library %s', (_, { commands, codecs }, prepare, sentence) => {
  let installed: readonly string[] = [];
  const readLibraryFiles = async (): Promise<readonly string[]> => {
    const library = join(root, 'node_modules', 'node-llama-cpp');
    return (await readdir(library, { recursive: true })).toSorted();
  };
  beforeAll(async () => {
    await prepare();
    installed = await readLibraryFiles();
  });

  it.each(commands)('is told by %s, which names the package', async (command) => {
    const child = spawn(process.execPath, [cliOf(root), ...(argumentsOf[command] ?? [])], { cwd: root });
    child.stdin.end('hello\n');
    const { out, err, code } = await untilExit(child);
    expect({ out, code }).toEqual({ out: '', code: 1 });
    expect(err).toContain('error: MODEL_LOAD_FAILED (6009): ');
    expect(err).toContain(sentence);
    expect(err).not.toContain('download it again');
  });

  it('is told to clients with 6009 in each codec, and the server goes on', async () => {
    const args = ['serve', '--port', '0', '--json', '--gpu', 'off', '--engine-process', 'child'];
    const child = spawn(process.execPath, [cliOf(root), ...args], { cwd: root });
    const { port } = JSON.parse(await readFirstLine(child)) as { readonly port: number };
    for (const subprotocol of codecs) {
      await using client = await TestClient.connect(`ws://127.0.0.1:${port}`, subprotocol, 'llama-cpp');
      if (subprotocol === codecs[0]) {
        const attempt = await client.request('createAgent', { graphName: 'chat' });
        expect(attempt).toMatchObject({ error: { message: expect.stringContaining(sentence) as unknown } });
      }
      expect(await client.request('loadModel', { modelName: 'turngraph-demo' })).toMatchObject({
        error: { code: 6009, message: expect.stringContaining(sentence) as unknown },
      });
    }
    child.kill('SIGTERM');
    expect(await once(child, 'exit')).toEqual([0, null]);
  });

  it('compiles and downloads nothing', async () => {
    expect(await readLibraryFiles()).toEqual(installed);
  });
});

describe('the package of a system', () => {
  it('is named as npm has it', async () => {
    const { stdout } = await promisify(execFile)(process.execPath, [
      '-p',
      `JSON.stringify(require(${JSON.stringify(join(modules, 'node-llama-cpp', 'package.json'))}).optionalDependencies)`,
    ]);
    const published = Object.keys(JSON.parse(stdout) as object);
    for (const platform of ['linux', 'darwin', 'win32'])
      for (const arch of ['x64', 'arm64']) expect(published).toContain(libraryPackage({ platform, arch }));
    expect(libraryPackage({ platform: 'sunos', arch: 'x64' })).toBeUndefined();
  });
});
