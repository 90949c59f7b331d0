import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { chromiumPath, useChromium } from '../../helpers/chromium.ts';
import { findFaults } from '../../helpers/maliciousServer.ts';
import { freePort } from '../../helpers/nginx.ts';
import { checkRequirement, findChromium, isSkipped } from '../../helpers/requirements.mjs';
import { repositoryPath, startTestServer } from '../../helpers/server.ts';
import { expectSurvival, runTrial } from './clientTrial.ts';
import { expectConformance } from './conformanceRun.ts';
import { runExample } from './exampleRun.ts';
import { visitMaliciousServers } from './maliciousVisits.ts';
import { expectPrograms, programEnd, type WrittenProgram } from './playgroundPrograms.ts';
import { outputUntil, readSample } from './readmeSample.ts';
import { expectScenarios } from './sharedScenarios.ts';

const options =
  '--headless --no-sandbox --disable-gpu --disable-quic --no-first-run --disable-background-networking ' +
  '--disable-component-update --disable-sync --enable-logging=stderr';

describe.skipIf(isSkipped('browserClient'))('the client for browsers', () => {
  /** The files of the page, by path: type and content. */
  const files = new Map<string, readonly [string, string]>();
  const fileServer = createServer((request, response) => {
    const [type = 'text/plain', content = ''] = files.get(request.url?.split('?')[0] ?? '') ?? [];
    response.writeHead(content === '' ? 404 : 200, { 'Content-Type': type }).end(content);
  });
  const browser = useChromium();
  let origin = '';
  let profile = '';

  beforeAll(async () => {
    checkRequirement('browserClient');
    const read = (path: string) => readFile(repositoryPath(path), 'utf8');
    files.set('/turngraph.js', ['text/javascript', await read('examples/browser/turngraph.js')]);
    files.set('/page.html', ['text/html', await read('examples/browser/example.html')]);
    for (const name of ['trial', 'visits'])
      files.set(`/${name}.html`, ['text/html', await read(`test/e2e/clients/${name}.html`)]);
    await once(fileServer.listen(0, '127.0.0.1'), 'listening');
    origin = `http://127.0.0.1:${(fileServer.address() as AddressInfo).port}`;
    profile = await mkdtemp(join(tmpdir(), 'turngraph-chromium-'));
  });
  afterAll(async () => {
    fileServer.closeAllConnections();
    fileServer.close();
    // Chromium's other processes end shortly after the first one.
    await rm(profile, { recursive: true, force: true, maxRetries: 20, retryDelay: 100 });
  });

  /** Opens a page in a browser with an empty profile. What it logs comes on standard error. */
  const open = (name: string, page: string) =>
    spawn(findChromium() ?? 'chromium', [
      ...options.split(' '),
      `--user-data-dir=${join(profile, name)}`,
      `${origin}/${page}`,
    ]);

  it.concurrent(
    'streams, calls tools, cancels, and survives kill -TERM, kill -9 and a restart of the server',
    async () => {
      const lines = await runTrial(
        (server, token) => open('trial', `trial.html?${new URLSearchParams({ server, token })}`),
        '--allow-origin',
        origin,
      );
      expectSurvival(lines);
    },
  );

  it.concurrent(
    'ends each visit of a malicious server with an error that names what happened and the limit',
    async () => {
      const outcomes = await visitMaliciousServers((urls) =>
        open('visits', `visits.html?${new URLSearchParams(urls.map((url): [string, string] => ['server', url]))}`),
      );
      const settings = {
        connect: 'connectMs',
        request: 'requestMs',
        idle: 'idleMs',
        reconnect: 'reconnectMs',
        answer: 'answerBytes',
      };
      expect(findFaults(outcomes, settings)).toEqual([]);
    },
  );

  it.concurrent('runs the example of its README', async () => {
    await using server = await startTestServer({ allowOrigin: [origin] });
    files.set('/example.html', ['text/html', await readSample('browser', 'html', server.url)]);
    const output = await outputUntil(open('example', 'example.html'), /lamp: \w/);
    expect(output).toContain('set_light porch true');
  });

  it.concurrent(
    'runs its example page, which goes on in the middle of an answer when the connection breaks',
    async () => {
      const page = await browser().newPage();
      const open = async (url: string) => {
        await page.goto(`${origin}/page.html?${new URLSearchParams({ server: url })}`);
        const until = async (pattern: RegExp): Promise<string> => {
          await page.waitForFunction(`${String(pattern)}.test(document.querySelector('pre').textContent)`);
          return (await page.locator('pre').textContent()) ?? '';
        };
        return { until };
      };
      await runExample(open, { server: { allowOrigin: [origin] } });
    },
  );

  it.concurrent('runs the pages that the playground writes', async () => {
    const page = await browser().newPage();
    const run = async ({ code, graphFile, token }: WrittenProgram): Promise<string> => {
      files.set('/program.html', ['text/html', code]);
      files.set('/house.json', ['application/json', await readFile(graphFile, 'utf8')]);
      await page.goto(`${origin}/program.html?${new URLSearchParams({ token })}`);
      await page.waitForFunction(`${String(programEnd)}.test(document.querySelector('pre').textContent)`);
      return (await page.locator('pre').textContent()) ?? '';
    };
    await expectPrograms('page', run, { allowOrigin: [origin] });
  });

  const program = repositoryPath('examples/browser/conform.mjs');

  it.concurrent('passes the conformance kit', async () => {
    const command = `CHROMIUM='${chromiumPath()}' '${process.execPath}' '${program}'`;
    await expectConformance(command, ['json']);
  });

  it.concurrent('runs the scenarios of all clients', async () => {
    const port = await freePort();
    const env = { CHROMIUM: chromiumPath(), PAGE_PORT: String(port) };
    const server = { allowOrigin: [`http://127.0.0.1:${port}`] };
    await expectScenarios([process.execPath, program], { env, server });
  });
});
