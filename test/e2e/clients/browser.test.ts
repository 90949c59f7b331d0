import type { ChildProcessWithoutNullStreams } from 'node:child_process';
import { EventEmitter, once } from 'node:events';
import { readFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { PassThrough } from 'node:stream';
import type { Browser } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { chromiumPath, useChromium } from '../../helpers/chromium.ts';
import { findFaults } from '../../helpers/maliciousServer.ts';
import { freePort } from '../../helpers/nginx.ts';
import { checkRequirement, isSkipped } from '../../helpers/requirements.mjs';
import { repositoryPath, startTestServer } from '../../helpers/server.ts';
import { expectSurvival, runTrial } from './clientTrial.ts';
import { expectConformance } from './conformanceRun.ts';
import { runExample } from './exampleRun.ts';
import { visitMaliciousServers } from './maliciousVisits.ts';
import { expectPrograms, programEnd, type WrittenProgram } from './playgroundPrograms.ts';
import { outputUntil, readSample } from './readmeSample.ts';
import { expectScenarios } from './sharedScenarios.ts';

/** Opens a page in a profile of its own as a program whose output is what it logs, and which is ended by closing it. */
function startPage(browser: Browser, url: string): ChildProcessWithoutNullStreams {
  const [stdout, stderr] = [new PassThrough(), new PassThrough()];
  const context = browser.newContext();
  const kill = (): boolean => {
    context.then((opened) => opened.close()).catch(() => undefined);
    return true;
  };
  const program = Object.assign(new EventEmitter(), { stdout, stderr, kill });
  const open = async (): Promise<void> => {
    const page = await (await context).newPage();
    page.on('console', (message) => stdout.write(`${message.text()}\n`));
    page.on('pageerror', (error) => stderr.write(`${String(error)}\n`));
    page.on('crash', () => ['exit', 'close'].forEach((event) => program.emit(event)));
    await page.goto(url);
  };
  open().catch((error: unknown) => program.emit('error', error));
  return program as unknown as ChildProcessWithoutNullStreams;
}

describe.skipIf(isSkipped('browserClient'))('the client for browsers', () => {
  /** The files of the page, by path: type and content. */
  const files = new Map<string, readonly [string, string]>();
  const fileServer = createServer((request, response) => {
    const [type = 'text/plain', content = ''] = files.get(request.url?.split('?')[0] ?? '') ?? [];
    response.writeHead(content === '' ? 404 : 200, { 'Content-Type': type }).end(content);
  });
  const browser = useChromium();
  let origin = '';

  beforeAll(async () => {
    checkRequirement('browserClient');
    const read = (path: string) => readFile(repositoryPath(path), 'utf8');
    files.set('/turngraph.js', ['text/javascript', await read('examples/browser/turngraph.js')]);
    files.set('/page.html', ['text/html', await read('examples/browser/example.html')]);
    for (const name of ['trial', 'visits'])
      files.set(`/${name}.html`, ['text/html', await read(`test/e2e/clients/${name}.html`)]);
    await once(fileServer.listen(0, '127.0.0.1'), 'listening');
    origin = `http://127.0.0.1:${(fileServer.address() as AddressInfo).port}`;
  });
  afterAll(() => {
    fileServer.closeAllConnections();
    fileServer.close();
  });

  const open = (page: string) => startPage(browser(), `${origin}/${page}`);

  it.concurrent(
    'streams, calls tools, cancels, and survives the end, the loss and a restart of the server',
    async () => {
      const lines = await runTrial((server, token) => open(`trial.html?${new URLSearchParams({ server, token })}`), {
        allowOrigin: [origin],
      });
      expectSurvival(lines);
    },
  );

  it.concurrent(
    'ends each visit of a malicious server with an error that names what happened and the limit',
    async () => {
      const outcomes = await visitMaliciousServers((urls) =>
        open(`visits.html?${new URLSearchParams(urls.map((url): [string, string] => ['server', url]))}`),
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
    const output = await outputUntil(open('example.html'), /lamp: \w/);
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
