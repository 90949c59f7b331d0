import { existsSync } from 'node:fs';
import { delimiter, join } from 'node:path';
import { chromium } from 'playwright-core';
import { startServer } from '../../dist/index.js';

const commands = ['chromium', 'chromium-browser', 'google-chrome'];

/** Chromium: the one that CHROMIUM_PATH names, or the first in the path. */
function chromiumPath() {
  const folders = (process.env.PATH ?? '').split(delimiter);
  const found = commands
    .flatMap((command) => folders.map((folder) => join(folder, command)))
    .find((path) => existsSync(path));
  const path = process.env.CHROMIUM_PATH || found;
  if (!path) throw new Error('there is no Chromium: install chromium, or name it in CHROMIUM_PATH');
  return path;
}

/**
 * Starts a server with the demo model and Chromium without a window. Returns how to open the playground, and how to end both.
 * @param {object} [options] options of the server
 */
export async function openPlayground(options = {}) {
  const server = await startServer({ port: 0, gpu: 'off', logLevel: 'error', ...options });
  const browser = await chromium.launch({ executablePath: chromiumPath(), args: ['--no-sandbox'] });
  const address = server.url.replace('ws:', 'http:');
  return {
    /** @param {import('playwright-core').BrowserContextOptions} context */
    async open(context) {
      const page = await (
        await browser.newContext({ reducedMotion: 'reduce', baseURL: address, ...context })
      ).newPage();
      await page.goto(`${address}/`);
      return page;
    },
    async [Symbol.asyncDispose]() {
      await browser.close();
      await server[Symbol.asyncDispose]();
    },
  };
}

/** Chooses a graph of the server and waits until it is drawn. @type {(page: import('playwright-core').Page, name: string) => Promise<void>} */
export async function openGraph(page, name) {
  await page.getByRole('combobox', { name: 'Graph', exact: true }).selectOption(name);
  await page.locator('[data-node]').first().waitFor();
}
