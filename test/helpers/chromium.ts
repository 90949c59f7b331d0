import { existsSync } from 'node:fs';
import { delimiter, join } from 'node:path';
import { chromium, type Browser, type Page } from 'playwright-core';
import { afterAll, beforeAll, beforeEach } from 'vitest';
import { findChromium } from './requirements.mjs';

/** Starts Chromium without a window before all tests of a file and stops it after them. */
export function useChromium(): () => Browser {
  let browser: Browser | undefined;
  beforeAll(async () => {
    // Chromium cannot have its sandbox where it is run by root, as in a container.
    browser = await chromium.launch({ executablePath: chromiumPath(), args: ['--no-sandbox', '--disable-gpu'] });
  });
  afterAll(() => browser?.close());
  return () => {
    if (!browser) throw new Error('Chromium is started in beforeAll');
    return browser;
  };
}

/** The file of Chromium: playwright-core takes no name of a command. */
export function chromiumPath(): string {
  const command = findChromium() ?? 'chromium';
  const folders = (process.env['PATH'] ?? '').split(delimiter);
  return folders.map((folder) => join(folder, command)).find((path) => existsSync(path)) ?? command;
}

/** Sizes of the window that the page is made for. */
export const viewports = { desktop: { width: 1280, height: 800 }, phone: { width: 390, height: 844 } } as const;

/** How a page is opened. */
export interface PageOptions {
  readonly viewport?: keyof typeof viewports;
  readonly colorScheme?: 'light' | 'dark';
  /** Runs in the page before its own scripts. */
  readonly before?: () => void;
}

/** A page in a profile of its own, and what it did. */
export interface WatchedPage extends AsyncDisposable {
  readonly page: Page;
  /** The addresses of all its requests and WebSockets, in order. */
  readonly requests: readonly string[];
  /** Errors and warnings in its console, and what its scripts threw. */
  readonly problems: readonly string[];
  /** Empties both lists. */
  forget(): void;
}

/** Opens an address in a profile of its own. The caller disposes of it. */
export async function openPage(
  browser: Browser,
  url: string,
  { viewport = 'desktop', colorScheme = 'light', before }: PageOptions = {},
): Promise<WatchedPage> {
  const context = await browser.newContext({ viewport: viewports[viewport], colorScheme, reducedMotion: 'reduce' });
  context.setDefaultTimeout(120_000);
  const page = await context.newPage();
  if (before) await page.addInitScript(before);
  const requests: string[] = [];
  const problems: string[] = [];
  page.on('request', (request) => requests.push(request.url()));
  page.on('websocket', (socket) => requests.push(socket.url()));
  page.on('pageerror', (error) => problems.push(String(error)));
  page.on('console', (message) => {
    // Asked for by the browser itself, for a text file, which names no icon.
    if (message.location().url.endsWith('/favicon.ico')) return;
    if (['error', 'warning'].includes(message.type())) problems.push(message.text());
  });
  await page.goto(url.replace('ws:', 'http:'));
  const forget = (): void => [requests, problems].forEach((list) => (list.length = 0));
  return { page, requests, problems, forget, [Symbol.asyncDispose]: () => context.close() };
}

/**
 * Opens the playground of a server before each test of a file, as a user who has not been there before. They share a page:
 * a new profile would compile its scripts again.
 */
export function usePlayground(browser: () => Browser, url: () => string): () => WatchedPage {
  let opened: WatchedPage | undefined;
  beforeEach(async () => {
    if (!opened) {
      opened = await openPage(browser(), url());
      return;
    }
    const { page } = opened;
    await page.unrouteAll();
    const home = url().replace('ws:', 'http:');
    // A page without a script of the same origin.
    await page.goto(new URL('/playground/licenses.txt', home).href);
    await page.evaluate('localStorage.clear(); sessionStorage.clear()');
    opened.forget();
    await page.goto(home);
  });
  afterAll(() => opened?.[Symbol.asyncDispose]());
  return () => {
    if (!opened) throw new Error('the page is opened in beforeEach');
    return opened;
  };
}
