import { execFile, spawn } from 'node:child_process';
import { mkdir, mkdtemp, readFile, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join, posix } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { untilExit, readFirstLine } from '../cli/command.ts';
import { anchorsOf, linksOf } from '../helpers/markdown.ts';
import { repositoryPath } from '../helpers/server.ts';

const run = promisify(execFile);

interface Packed {
  readonly filename: string;
  readonly size: number;
  readonly files: readonly { readonly path: string }[];
}

/** Installs the package in an empty folder with only its own dependencies. */
describe('the installed package', () => {
  let folder = '';
  let packed: Packed;
  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'turngraph-'));
    const { stdout } = await run('npm', ['pack', '--json', '--ignore-scripts', '--pack-destination', folder], {
      cwd: repositoryPath('.'),
    });
    packed = (JSON.parse(stdout) as Packed[])[0] as Packed;
    const packageFolder = join(folder, 'node_modules', 'turngraph');
    await mkdir(packageFolder, { recursive: true });
    await run('tar', ['-xzf', join(folder, packed.filename), '--strip-components=1', '-C', packageFolder]);
    const { dependencies } = JSON.parse(await readFile(join(packageFolder, 'package.json'), 'utf8')) as {
      dependencies: Record<string, string>;
    };
    for (const name of Object.keys(dependencies)) {
      const link = join(folder, 'node_modules', name);
      await mkdir(dirname(link), { recursive: true });
      await symlink(repositoryPath(`node_modules/${name}`), link);
    }
  });
  afterAll(() => rm(folder, { recursive: true }));

  it('contains the files for users, and no sources, tests or scripts', () => {
    const paths = packed.files.map(({ path }) => path);
    for (const needed of [
      'package.json',
      'README.md',
      'LICENSE',
      'models.json',
      'models.schema.json',
      'models/turngraph-demo.gguf',
      'graphs/lamp-switch.json',
      'graphs/graph.schema.json',
      'proto/turngraph/v1/wire.proto',
      'proto/PROTOCOL.md',
      'proto/golden/golden.json',
      'docs/README.md',
      'models/turngraph-demo.md',
      'examples/python/turngraph.py',
      'dist/index.js',
      'dist/index.d.ts',
      'dist/client/index.js',
      'dist/client/index.d.ts',
      'dist/cli/turngraph.js',
    ]) {
      expect(paths).toContain(needed);
    }
    expect(
      paths.filter((path) => /^(src|test|scripts|\.ci|docs\/api)\/|tsconfig|vitest|prettier|recipe\.tar/.test(path)),
    ).toEqual([]);
    expect(packed.size).toBeLessThan(12.25 * 1024 * 1024);
  });

  it('has pages whose links lead to files and headings that it contains', async () => {
    const paths = packed.files.map(({ path }) => path);
    const pages = paths.filter((path) => path.endsWith('.md'));
    expect(pages.length).toBeGreaterThan(25);
    const readPage = (page: string) => readFile(join(folder, 'node_modules', 'turngraph', page), 'utf8');
    const texts = new Map(await Promise.all(pages.map(async (page) => [page, await readPage(page)] as const)));
    const isBroken = (page: string, target: string): boolean => {
      const [path = '', anchor] = target.split('#');
      const file = path === '' ? page : posix.join(posix.dirname(page), path);
      if (!paths.some((packedPath) => packedPath === file || packedPath.startsWith(`${file}/`))) return true;
      return anchor !== undefined && !anchorsOf(texts.get(file) ?? '').has(anchor);
    };
    const broken = [...texts].flatMap(([page, text]) =>
      linksOf(text).flatMap((target) => (isBroken(page, target) ? [`${page}: ${target}`] : [])),
    );
    expect(broken).toEqual([]);
  });

  it('has pages that say where to run the scripts that it does not contain', async () => {
    const pages = packed.files.map(({ path }) => path).filter((path) => path.endsWith('.md'));
    const texts = await Promise.all(
      pages.map((page) => readFile(join(folder, 'node_modules', 'turngraph', page), 'utf8')),
    );
    const silent = pages.filter((_, index) => {
      const text = (texts[index] ?? '').replaceAll(/<!--.*?-->/gs, '');
      return /npm run |scripts\//.test(text) && !/\b(?:checkout|repository|clone)\b/.test(text);
    });
    expect(silent).toEqual([]);
  });

  it('serves the bundled graphs and model to its client', async () => {
    const cli = join(folder, 'node_modules', 'turngraph', 'dist', 'cli', 'turngraph.js');
    const server = spawn(process.execPath, [cli, 'serve', '--port', '0', '--json', '--stdin', '--log-level', 'error'], {
      cwd: folder,
    });
    const exit = untilExit(server);
    const { port } = JSON.parse(await readFirstLine(server)) as { port: number };
    await writeFile(
      join(folder, 'client.mjs'),
      `import { connect } from 'turngraph/client';
       const client = await connect('ws://127.0.0.1:${port}');
       const agent = await client.createAgent({ graphName: 'lamp-switch' });
       const { calls } = await agent.send('Please turn on the porch light.');
       console.log(calls[0].toolName, JSON.stringify(calls[0].arguments));
       await client.close();`,
    );
    const { stdout } = await run(process.execPath, ['client.mjs'], { cwd: folder });
    expect(stdout).toBe('set_light {"name":"porch","on":true}\n');
    server.stdin.end();
    expect(await exit).toMatchObject({ code: 0, err: '' });
  });

  it('has types that a program compiles with', async () => {
    await writeFile(
      join(folder, 'program.mts'),
      `import { connect, type FinishedTurn } from 'turngraph/client';
       import { defineNode, startServer } from 'turngraph';
       const nodeTypes = [defineNode({ type: 'Hush', summary: 'Sends nothing.', exits: ['default'],
         params: { type: 'object', properties: { often: { type: 'integer', default: 1 } } },
         create: async ({ often }) => ({ run: async (turn) => { turn.emitEvent('hushed', { often: often.toFixed(0) }); return 'default'; } }) })];
       const server = await startServer({ port: 0, nodeTypes });
       const client = await connect(server.url);
       const turn: FinishedTurn = await (await client.createAgent({ graphName: 'chat' })).send('hello');
       // @ts-expect-error: there is no such status
       if (turn.status === 'ERROR') throw new Error();`,
    );
    const compiler = repositoryPath('node_modules/typescript/bin/tsc');
    const flags = [
      '--noEmit',
      '--strict',
      '--skipLibCheck',
      '--module',
      'nodenext',
      '--target',
      'es2023',
      '--lib',
      'es2023,esnext.disposable,dom',
      'program.mts',
    ];
    await expect(run(process.execPath, [compiler, ...flags], { cwd: folder })).resolves.toMatchObject({ stdout: '' });
  });
});
