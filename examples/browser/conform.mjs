// The program with which the conformance kit checks the client for pages: it opens a page in Chromium and passes lines to it.
// Install playwright-core (npm install playwright-core) and Chromium, then:
//   npx turngraph conformance --client "node examples/browser/conform.mjs" --codec json
import { readFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import { createInterface } from 'node:readline';
import { chromium } from 'playwright-core';

// PAGE_PORT: of the page's origin, where a server checks that.
const { TURNGRAPH_URL, TURNGRAPH_CODEC, PAGE_PORT = '0', CHROMIUM = '/usr/bin/chromium' } = process.env;
// 77: not supported.
if (TURNGRAPH_CODEC !== 'turngraph.v1.json') process.exit(77);

const page = `<!doctype html><script type="module">
  import { createProgram } from './conform.js';
  const program = createProgram(${JSON.stringify(TURNGRAPH_URL)}, (event) => window.writeEvent(JSON.stringify(event)));
  window.takeCommand = (line) => program(JSON.parse(line));
</script>`;

// Modules are not loaded from files.
const files = createServer(async ({ url }, response) => {
  if (url === '/') return response.setHeader('Content-Type', 'text/html').end(page);
  const name = ['/conform.js', '/turngraph.js'].find((path) => path === url);
  if (!name) return response.writeHead(404).end();
  response.setHeader('Content-Type', 'text/javascript').end(await readFile(new URL(`.${name}`, import.meta.url)));
});
await new Promise((resolve) => files.listen(Number(PAGE_PORT), '127.0.0.1', resolve));

/** The id of the close that follows the last command. It is not answered. */
const endOfInput = -1;

// Chromium cannot have its sandbox where it is run by root, as in a container.
const args = process.getuid?.() === 0 ? ['--no-sandbox'] : [];
const browser = await chromium.launch({ executablePath: CHROMIUM, args });
const tab = await browser.newPage();
const exit = async () => {
  await browser.close();
  process.exit(0);
};
await tab.exposeFunction('writeEvent', (line) => {
  const { id, event } = JSON.parse(line);
  if (id !== endOfInput) process.stdout.write(`${line}\n`);
  if (event === 'closed') void exit();
});
await tab.goto(`http://127.0.0.1:${files.address().port}/`);
await tab.waitForFunction(() => window.takeCommand !== undefined);

const take = (line) => tab.evaluate((command) => void window.takeCommand(command), line);
for await (const line of createInterface({ input: process.stdin })) void take(line);
await take(JSON.stringify({ id: endOfInput, do: 'close' }));
