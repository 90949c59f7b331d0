import { execFile, spawn } from 'node:child_process';
import { lstat, mkdtemp, readdir, readFile, rename, rm, symlink } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { basename, dirname, join, relative } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { connect } from '../../src/client/index.ts';
import { readFirstLine, untilExit } from '../cli/command.ts';
import { blocksOf } from '../helpers/docPages.ts';
import { startNpmRegistry } from '../helpers/npmRegistry.ts';
import { isSkipped } from '../helpers/requirements.mjs';
import { repositoryPath } from '../helpers/server.ts';

const run = promisify(execFile);
const page = await readFile(repositoryPath('docs/launching.md'), 'utf8');
const [section = ''] = /^## Package it with the game\n.*?(?=^## )/ms.exec(page) ?? [];
const commands = blocksOf('docs/launching.md')
  .filter(({ language, code }) => language === 'sh' && section.includes(code))
  .map(({ code }) => code);
const [tryCommand = ''] = commands.slice(-1);

/** Sizes of all files below a folder in megabytes, in whole blocks of 4 KiB as `du -sm` counts them. */
async function megabytesOf(folder: string): Promise<number> {
  const paths = await readdir(folder, { recursive: true });
  const sizes = await Promise.all(paths.map(async (path) => (await lstat(join(folder, path))).size));
  return sizes.reduce((sum, size) => sum + Math.ceil(size / 4096) / 256, 0);
}

describe('the packages that the page on shipping names', () => {
  it('are those of the locked node-llama-cpp, at its version', async () => {
    const library = JSON.parse(await readFile(repositoryPath('node_modules/node-llama-cpp/package.json'), 'utf8')) as {
      version: string;
      optionalDependencies: Record<string, string>;
    };
    const versions = [...section.matchAll(/(?:@node-llama-cpp\/|node-llama-cpp-)[a-z\d-]+?[@-](\d+\.\d+\.\d+)/g)];
    expect(versions.length).toBeGreaterThan(1);
    expect(new Set(versions.map(([, version]) => version))).toEqual(new Set([library.version]));
    const named = [...section.matchAll(/`((?:win|mac|linux)-[a-z\d-]+)`/g)].map(([, name = '']) => name);
    expect(named.length).toBeGreaterThan(8);
    const known = Object.keys(library.optionalDependencies).map((name) => basename(name));
    expect(named.filter((name) => !known.includes(name))).toEqual([]);
  });

  it('are for the packed file of this version', async () => {
    const { version } = JSON.parse(await readFile(repositoryPath('package.json'), 'utf8')) as { version: string };
    expect(section).toContain(`./turngraph-${version}.tgz`);
  });
});

/** Runs the commands of the page as they stand, with a registry on loopback that serves this checkout's node_modules. */
describe.skipIf(isSkipped('bundle'))('a server for a game', () => {
  let folder = '';
  let bundle = '';
  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'turngraph-bundle-'));
    await symlink(repositoryPath('.'), join(folder, 'turngraph'));
    await using registry = await startNpmRegistry();
    const env = {
      ...process.env,
      npm_config_registry: registry.url,
      npm_config_cache: join(folder, 'npm-cache'),
      // Packing would build dist again, which other tests use.
      npm_config_ignore_scripts: 'true',
    };
    await run('sh', ['-e', '-c', commands.slice(0, -1).join('')], { cwd: folder, env });
    bundle = join(folder, 'elsewhere', 'game-server');
    await run('mkdir', [dirname(bundle)]);
    await rename(join(folder, 'game-server'), bundle);
  });
  afterAll(() => rm(folder, { recursive: true }));

  it('runs from another place and another folder', async () => {
    const { stdout, stderr } = await run('sh', ['-e', '-c', tryCommand], { cwd: dirname(bundle) });
    expect(`${stdout}${stderr}`).toContain('set_light {"name":"porch","on":true}');
  });

  it('serves a client', async () => {
    const cli = join(bundle, 'node_modules/turngraph/dist/cli/turngraph.js');
    const args = [cli, 'serve', '--port', '0', '--json', '--stdin', '--log-level', 'error'];
    const server = spawn(process.execPath, args, { cwd: tmpdir() });
    const exit = untilExit(server);
    const { port } = JSON.parse(await readFirstLine(server)) as { port: number };
    await using client = await connect(`ws://127.0.0.1:${port}`);
    const agent = await client.createAgent({ graphName: 'lamp-switch' });
    const { calls } = await agent.send('Please turn on the porch light.');
    expect(calls.map(({ argumentsJson }) => argumentsJson)).toEqual(['{"name": "porch", "on": "true"}']);
    server.stdin.end();
    expect(await exit).toMatchObject({ code: 0, err: '' });
  });

  it('has no link and, apart from the unpacked packages, no file that is for one system only', async () => {
    const entries = await readdir(bundle, { recursive: true, withFileTypes: true });
    expect(entries.filter((entry) => entry.isSymbolicLink())).toEqual([]);
    const binaries = entries
      .filter(({ name }) => /\.(?:node|so|dll|dylib|exe)(?:\.|$)/.test(name))
      .map((entry) => relative(bundle, entry.parentPath));
    expect(new Set(binaries)).toEqual(new Set(['node_modules/@node-llama-cpp/linux-x64/bins/linux-x64']));
  });

  it('has a licence for every package, and those of llama.cpp', async () => {
    const manifests = (await readdir(join(bundle, 'node_modules'), { recursive: true }))
      .filter((path) => /(?:^|node_modules\/)(?:@[^/]+\/)?[^/@]+\/package\.json$/.test(path))
      .map((path) => dirname(path));
    expect(manifests.length).toBeGreaterThan(100);
    const files = await Promise.all(manifests.map((path) => readdir(join(bundle, 'node_modules', path))));
    const without = manifests.filter(
      (_, index) => !files[index]?.some((name) => /^(?:licen[sc]e|copying)/i.test(name)),
    );
    expect(without.filter((name) => !section.includes(`\`${name}\``))).toEqual([]);
    expect(await readFile(join(bundle, 'licenses/llama.cpp/LICENSE'), 'utf8')).toContain('The ggml authors');
    expect(await readdir(join(bundle, 'licenses/llama.cpp/licenses'))).not.toEqual([]);
  });

  it('is as large as the page says', async () => {
    const [, figure = ''] = /^\| all of the above +\| +(\d+) MB/m.exec(section) ?? [];
    const size = await megabytesOf(join(bundle, 'node_modules'));
    expect(Math.abs(size - Number(figure))).toBeLessThan(5);
  });
});
