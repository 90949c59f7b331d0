import { spawn } from 'node:child_process';
import { copyFile, cp, mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { chatmlCall } from '../../helpers/resultGraphs.ts';
import { repositoryPath } from '../../helpers/server.ts';
import { exampleProcess } from './exampleRun.ts';

const script = [
  { match: 'Paris', node: 'detect', answer: chatmlCall('get_weather', { city: 'Paris' }) },
  { match: 'Oslo', node: 'detect', answer: chatmlCall('get_weather', { city: 'Oslo' }) },
  // Longer than the page takes to cancel it.
  { match: 'story', node: 'answer', answer: 'once upon a time '.repeat(250), delay_ms: 100 },
  { match: '', answer: 'It has 18 degrees.' },
];

const moduleOf = (path: string): string => JSON.stringify(pathToFileURL(repositoryPath(path)).href);

/** The package turngraph, with the mock engine in place of the default one. */
const turngraph = (mockScript: string): Readonly<Record<string, string>> => ({
  'package.json': JSON.stringify({ exports: { '.': './index.mjs', './client': './client.mjs' } }),
  'index.mjs': `
    import { startServer as start } from ${moduleOf('dist/index.js')};
    export const startServer = (options) => start({ ...options, mockScript: ${JSON.stringify(mockScript)} });`,
  'client.mjs': `
    import { connect as open } from ${moduleOf('dist/client/index.js')};
    export { executor } from ${moduleOf('dist/client/index.js')};
    export async function connect(...options) {
      const client = await open(...options);
      await client.configure({ engine: 'mock' });
      return client;
    }`,
});

// Electron itself is not run: its package downloads a browser when it is installed.
describe('the code of the example for Electron, with a stand-in for Electron', () => {
  let folder = '';
  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'turngraph-electron-'));
    await cp(repositoryPath('examples/electron'), folder, { recursive: true });
    const mockScript = join(folder, 'mock.json');
    await writeFile(mockScript, JSON.stringify(script));
    const standIn = join(folder, 'node_modules/electron');
    const server = join(folder, 'node_modules/turngraph');
    for (const path of [standIn, server]) await mkdir(path, { recursive: true });
    await copyFile(repositoryPath('test/e2e/clients/electronStandIn.cjs'), join(standIn, 'index.js'));
    await copyFile(repositoryPath('test/e2e/clients/electronUtility.mjs'), join(standIn, 'utility.mjs'));
    for (const [name, code] of Object.entries(turngraph(mockScript))) await writeFile(join(server, name), code);
  });
  afterAll(() => rm(folder, { recursive: true }));

  it('runs a tool, cancels, and goes on with the dialog when the server has crashed', async () => {
    const child = spawn(process.execPath, ['main.mjs'], { cwd: folder });
    const closed = new Promise((resolve) => child.once('close', resolve));
    const { until } = exampleProcess(child);
    const enter = (line: string): boolean => child.stdin.write(`${line}\n`);
    try {
      await until(/the page is open/);
      enter('What is the weather in Paris?');
      await until(/\[get_weather {"city":"Paris"}\] It has 18 degrees. \(SUCCESS\)\n/);
      enter('Tell me a long story.');
      await until(/once upon/);
      enter('cancel');
      await until(/\(CANCELLED\)\n/);
      enter('crash');
      await until(/\[restored 2 interactions\]/);
      enter('What is the weather in Oslo?');
      await until(/\[get_weather {"city":"Oslo"}\] It has 18 degrees. \(SUCCESS\)\n/);
      enter('quit');
      expect(await closed).toBe(0);
    } finally {
      child.kill('SIGKILL');
    }
  });
});
