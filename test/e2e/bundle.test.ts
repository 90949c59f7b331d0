import { execFile, spawn } from 'node:child_process';
import { chmod, lstat, mkdtemp, readdir, readFile, rename, rm, symlink } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { basename, dirname, join, relative } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { bundleCommand } from '../../src/cli/commands/bundle.ts';
import { connect } from '../../src/client/index.ts';
import { readFirstLine, untilExit, useCommandHost, type CliResult } from '../cli/command.ts';
import { blocksOf, textOf } from '../helpers/docPages.ts';
import { readMachO } from '../helpers/machO.ts';
import { isSkipped, macLibraries, macNodes } from '../helpers/requirements.mjs';
import { repositoryPath } from '../helpers/server.ts';

const run = promisify(execFile);
const shipping = textOf('docs/shipping.md');
const [section = ''] = /^## Make the bundle\n.*?(?=^## )/ms.exec(shipping) ?? [];
const blocks = blocksOf('docs/shipping.md').filter(({ key }) => key.includes('#make-the-bundle '));
const codeOf = (language: string): readonly string[] =>
  blocks.filter((block) => block.language === language).map(({ code }) => code);
const [makeCommands = '', tryCommand = ''] = codeOf('sh');

describe('the pages on shipping', () => {
  it('name the packages of the locked node-llama-cpp, in its version', async () => {
    const library = JSON.parse(await readFile(repositoryPath('node_modules/node-llama-cpp/package.json'), 'utf8')) as {
      version: string;
      optionalDependencies: Record<string, string>;
    };
    const versions = [...shipping.matchAll(/@node-llama-cpp\/[a-z\d-]+@(\d+\.\d+\.\d+)/g)].map(
      ([, version]) => version,
    );
    expect([...new Set(versions)]).toEqual([library.version]);
    const known = Object.keys(library.optionalDependencies).map((name) => basename(name));
    const named = [...shipping.matchAll(/`((?:win|mac|linux)-[a-z\d-]+)` \(\d+ MB\)/g)].map(([, name = '']) => name);
    expect(named.length).toBeGreaterThan(8);
    expect(named.filter((name) => !known.includes(name))).toEqual([]);
  });

  it('name each option of the command, and no other', () => {
    const list = section.slice(section.indexOf('\n- `--'));
    const named = [...list.matchAll(/`[^`]+`/g)].flatMap(([code]) => code.match(/--[a-z-]+/g) ?? []);
    const options = bundleCommand().options.map(({ long }) => long);
    expect(named.filter((flag) => !options.includes(flag))).toEqual([]);
    expect(options.filter((flag) => !named.includes(flag ?? '') && flag !== '--storage-root')).toEqual([]);
  });
});

// The bundle that was moved starts its engine process in the test of that; the others need none.
const inProcess = { ...process.env, TURNGRAPH_ENGINE_PROCESS: 'in' };

/** Runs the commands of the page as they stand; the bundle that they make is then moved, and made read-only. */
describe.skipIf(isSkipped('bundle'))('a server for a game', () => {
  let folder = '';
  let bundle = '';
  let printed = '';
  /** What the page says to try, where there is no network if that can be. */
  let tried: CliResult;
  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'turngraph-bundle-'));
    await chmod(folder, 0o755);
    await symlink(repositoryPath('.'), join(folder, 'turngraph'));
    // npm must neither ask a registry nor build dist again, which other tests use.
    const env = { ...process.env, npm_config_offline: 'true', npm_config_ignore_scripts: 'true' };
    // Other users can read the bundle, whatever its maker's files are.
    printed = (await run('sh', ['-e', '-c', `umask 077\n${makeCommands}`], { cwd: folder, env })).stdout;
    const options = { cwd: join(folder, 'my-game'), env: inProcess };
    tried = await untilExit(
      isSkipped('noNetwork')
        ? spawn('sh', ['-e', '-c', tryCommand], options)
        : spawn('unshare', ['--net', 'sh', '-e', '-c', `ip link set lo up\n${tryCommand}`], options),
    );
  });
  afterAll(async () => {
    await run('chmod', ['-R', 'u+w', folder]);
    await rm(folder, { recursive: true });
  });

  /** Runs a program of the bundle with an environment of its own, as a user who may write nothing in it. */
  function runAlone(command: string, args: readonly string[]): Promise<CliResult> {
    const user = process.getuid?.() === 0 ? { uid: 65534, gid: 65534 } : {};
    const child = spawn(command, args, {
      cwd: '/',
      env: { PATH: '', HOME: '/nonexistent', TURNGRAPH_THREADS: '1' },
      ...user,
    });
    child.stdin.end('Please turn on the porch light.\n');
    return untilExit(child);
  }

  const answer = { err: '> -> set_light {"name":"porch","on":true}\n', code: 0 };

  it('answers after the commands of the page', () => {
    expect(tried).toMatchObject(answer);
  });

  it.skipIf(isSkipped('noNetwork'))('answers where there is no network', () => {
    expect(tried).toMatchObject(answer);
  });

  it('answers when it was moved and may not be written, through a link, and with an empty PATH', async () => {
    bundle = join(folder, "the game's (server)");
    await rename(join(folder, 'my-game', 'game-server'), bundle);
    await run('chmod', ['-R', 'a-w', bundle]);
    await symlink(join(basename(bundle), 'turngraph'), join(folder, 'link'));
    await symlink('link', join(folder, 'link to the link'));
    const { err, code } = await runAlone(join(folder, 'link to the link'), ['chat', 'lamp-switch']);
    expect({ err, code }).toEqual(answer);
  });

  it('serves a client, and ends with the game', async () => {
    const args = ['serve', '--port', '0', '--json', '--stdin'];
    const env = { ...inProcess, XDG_STATE_HOME: folder };
    const server = spawn(join(bundle, 'turngraph'), args, { cwd: tmpdir(), env });
    const exit = untilExit(server);
    const { port, pid } = JSON.parse(await readFirstLine(server)) as { port: number; pid: number };
    expect(pid).toBe(server.pid);
    await using client = await connect(`ws://127.0.0.1:${port}`);
    const models = await client.listModels();
    expect(models.map(({ name, status }) => ({ name, status }))).toEqual([{ name: 'turngraph-demo', status: 'LOCAL' }]);
    const agent = await client.createAgent({ graphName: 'lamp-switch' });
    const { calls } = await agent.send('Please turn on the porch light.');
    expect(calls.map(({ argumentsJson }) => argumentsJson)).toEqual(['{"name": "porch", "on": "true"}']);
    server.stdin.end();
    expect(await exit).toMatchObject({ code: 0, err: '' });
    expect(await readFile(join(folder, 'turngraph', 'server.log'), 'utf8')).toContain('"msg":"listening"');
  });

  it('makes no bundle itself', async () => {
    const { err, code } = await runAlone(join(bundle, 'turngraph'), ['bundle', join(tmpdir(), 'turngraph-never')]);
    expect({ err, code }).toMatchObject({ err: expect.stringContaining('as in a bundle') as unknown, code: 1 });
  });

  it('has only what it needs: no link, no file for another system, no source, no map, no page', async () => {
    const entries = await readdir(bundle, { recursive: true, withFileTypes: true });
    const pathOf = (entry: (typeof entries)[number]): string => relative(bundle, join(entry.parentPath, entry.name));
    expect(entries.filter((entry) => entry.isSymbolicLink()).map(pathOf)).toEqual([]);
    const binaries = entries.filter(({ name }) => /\.(?:node|so|dll|dylib|exe|cmd|bat|ps1)(?:\.|$)/.test(name));
    expect([...new Set(binaries.map((entry) => dirname(pathOf(entry))))]).toEqual([
      'runtime/node_modules/@node-llama-cpp/linux-x64/bins/linux-x64',
    ]);
    const unneeded = entries.filter(
      ({ name }) => /\.(?:map|[cm]?ts|md|bundle|cpp|gguf)$/i.test(name) && !/licen[cs]e/i.test(name),
    );
    expect(unneeded.map(pathOf)).toEqual(['models/turngraph-demo.gguf']);
    expect((await readdir(bundle)).toSorted()).toEqual(
      ['THIRD-PARTY-NOTICES', 'graphs', 'models', 'models.json', 'runtime', 'turngraph'].toSorted(),
    );
    expect(await readdir(join(bundle, 'graphs'))).toEqual(['lamp-switch.json']);
  });

  it('names every package in its notices, with its licence', async () => {
    const notices = await readFile(join(bundle, 'THIRD-PARTY-NOTICES'), 'utf8');
    const listed = [
      ...notices.slice(0, notices.indexOf('\n\n', notices.indexOf('Node.js '))).matchAll(/^ {2}(\S.*)$/gm),
    ];
    const modules = join(bundle, 'runtime', 'node_modules');
    const folders = (await readdir(modules, { recursive: true }))
      .filter((path) => /(?:^|node_modules\/)(?:@[^/]+\/)?[^/@]+\/package\.json$/.test(path))
      .map((path) => dirname(path))
      .filter((path) => path !== 'turngraph');
    expect(folders.length).toBeGreaterThan(100);
    const titles = folders.map(async (path) => {
      const manifest = JSON.parse(await readFile(join(modules, path, 'package.json'), 'utf8')) as {
        readonly [field in 'name' | 'version' | 'license']: string;
      };
      return `${manifest.name} ${manifest.version} (${manifest.license})`;
    });
    const others = [
      /^Node\.js \d+\.\d+\.\d+ \(MIT\)$/,
      /^llama\.cpp v\S+ \(MIT\)$/,
      /^packages in the page of the playground$/,
    ];
    const names = listed.map(([, title = '']) => title);
    expect(others.map((pattern) => names.filter((name) => pattern.test(name)).length)).toEqual([1, 1, 1]);
    const packages = names.filter((name) => !others.some((pattern) => pattern.test(name)));
    expect(new Set(packages)).toEqual(new Set(await Promise.all(titles)));
    for (const name of names) expect(notices).toContain(`\n${name}\n====`);
    for (const path of folders) {
      for (const file of (await readdir(join(modules, path))).filter((name) => /^licen[cs]e/i.test(name))) {
        const text = await readFile(join(modules, path, file), 'utf8');
        expect(notices.includes(text.replaceAll('\r\n', '\n').trim()), `${path}/${file}`).toBe(true);
      }
    }
    for (const text of ['The ggml authors', 'Copyright Node.js contributors', 'Meta Platforms', 'turngraph-demo (MIT)'])
      expect(notices).toContain(text);
  });

  it('is as large as the command and the page say', async () => {
    const paths = await readdir(bundle, { recursive: true, withFileTypes: true });
    const files = paths.filter((entry) => entry.isFile());
    const sizes = await Promise.all(
      files.map(async ({ parentPath, name }) => (await lstat(join(parentPath, name))).size),
    );
    const megabytes = sizes.reduce((sum, size) => sum + size, 0) / 1e6;
    const [, total = ''] = /game-server for linux-x64: (\S+) MB/.exec(printed) ?? [];
    expect(total).toBe(megabytes.toFixed(1));
    const partsIn = (text: string): readonly string[] =>
      [...text.matchAll(/^ +[\d.]+ MB {2}(.*)$/gm)].map(([, part = '']) => part);
    const shown = partsIn(codeOf('text')[0] ?? '');
    const generic = (parts: readonly string[]) =>
      parts.map((part) => part.replace(/\d+\.\d+\.\d+$/, '').replace(/^\d+ npm/, 'npm'));
    expect(generic(partsIn(printed))).toEqual(generic(shown));
    const model = (await lstat(join(bundle, 'models', 'turngraph-demo.gguf'))).size / 1e6;
    const node = (await lstat(join(bundle, 'runtime', 'node'))).size / 1e6;
    // The size of Node is that of the Node that runs this; of the figures of the page it is that of their version.
    const rows = [...shipping.matchAll(/^\| \d+ +\| (\d+) MB +\| (\d+) MB/gm)].map(([, ...row]) => row.map(Number));
    expect(rows.length).toBeGreaterThan(2);
    for (const [nodeOfRow = 0, sizeOfRow = 0] of rows)
      expect(Math.abs(megabytes - model - node + nodeOfRow - sizeOfRow)).toBeLessThan(3);
    // Without the model, and with a Node of 99 MB.
    expect(megabytes - model - node + 99).toBeLessThan(175);
  });
});

/** What can be checked without a Mac. Nothing of the bundle is started. */
describe.skipIf(isSkipped('macBundles'))('a bundle for macOS', () => {
  const runInHost = useCommandHost();
  let folder = '';
  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'turngraph-mac-'));
  });
  afterAll(() => rm(folder, { recursive: true }));

  it.each(['arm64', 'x64'] as const)(
    'has Mach-O files for %s, with all that they load, and what starts them',
    async (arch) => {
      const bundle = join(folder, arch);
      const node = join(macLibraries, 'node_modules', macNodes[arch], 'bin/node');
      const flags = [
        '--platform',
        `mac-${arch}`,
        '--node',
        node,
        '--libraries',
        macLibraries,
        '--graph',
        'lamp-switch',
      ];
      expect(await runInHost(['bundle', bundle, ...flags])).toMatchObject({ code: 0, err: '' });
      const entries = await readdir(bundle, { recursive: true, withFileTypes: true });
      const files = entries.filter((entry) => entry.isFile()).map(({ parentPath, name }) => join(parentPath, name));
      const natives = files.filter((file) => /\.(?:node|dylib|so)$/.test(file));
      const packageName = arch === 'arm64' ? 'mac-arm64-metal' : 'mac-x64';
      expect([...new Set(natives.map((file) => relative(bundle, dirname(file))))]).toEqual([
        `runtime/node_modules/@node-llama-cpp/${packageName}/bins/${packageName}`,
      ]);
      const [, needed = ''] = /macOS (\d+\.\d+)/.exec(shipping) ?? [];
      const names = natives.map((file) => basename(file));
      expect(names).toContain('llama-addon.node');
      expect(names.some((name) => name.startsWith('libggml-cpu'))).toBe(true);
      expect(names.includes('libggml-metal.so')).toBe(arch === 'arm64');
      for (const file of [join(bundle, 'runtime/node'), ...natives]) {
        const { libraries, rpaths, ...facts } = await readMachO(file);
        const isProgram = file.endsWith('/node');
        expect({ file, ...facts }).toMatchObject({
          arch,
          kind: isProgram ? 'program' : file.endsWith('.so') ? 'bundle' : 'library',
          // An Intel processor needs no signature.
          isSigned: isProgram || arch === 'arm64',
          minVersion: isProgram ? '13.5' : needed,
        });
        // Of the system, or next to the file.
        const own = libraries.filter((path) => !/^\/(?:usr\/lib|System\/Library)\//.test(path));
        expect(own.filter((path) => !names.includes(path.replace(/^@(?:rpath|loader_path)\//, '')))).toEqual([]);
        if (own.some((path) => path.startsWith('@rpath/'))) expect(rpaths).toContain('@loader_path');
      }
      const executable = await Promise.all(files.map(async (file) => ((await lstat(file)).mode & 0o111) === 0o111));
      expect(
        files
          .filter((_, index) => executable[index])
          .map((file) => relative(bundle, file))
          .toSorted(),
      ).toEqual(['runtime/node', 'turngraph']);
      const script = await readFile(join(bundle, 'turngraph'), 'utf8');
      const [, program = '', entry = ''] =
        /^exec "\$\{file%\/\*\}\/(.+)" "\$\{file%\/\*\}\/(.+)" "\$@"$/m.exec(script) ?? [];
      expect([program, entry].map((path) => files.includes(join(bundle, path)))).toEqual([true, true]);
    },
  );
});
