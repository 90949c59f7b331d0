import { readFile } from 'node:fs/promises';
import type { Locator, Page } from 'playwright-core';
import { afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { openPage, useChromium, type WatchedPage } from '../helpers/chromium.ts';
import {
  messagesOf,
  newAgent,
  nodeOf,
  openGraph,
  regionOf,
  sendMessage,
  untilTurnEnds,
} from '../helpers/playgroundPage.ts';
import { checkRequirement, isSkipped } from '../helpers/requirements.mjs';
import { repositoryPath, useServer } from '../helpers/server.ts';

describe.skipIf(isSkipped('playground'))('the playground with the demo model', () => {
  const server = useServer();
  const browser = useChromium();
  let opened: WatchedPage;
  let page: Page;
  const open = async (url: string): Promise<void> => {
    opened = await openPage(browser(), url);
    page = opened.page;
  };
  beforeAll(() => checkRequirement('playground'));
  beforeEach(() => open(server().url));
  afterEach(() => opened[Symbol.asyncDispose]());

  it('draws a graph, lights up the path of a turn, and shows its call with typed arguments', async () => {
    await openGraph(page, 'lamp-switch');
    expect(await page.locator('[data-node]').count()).toBe(4);
    expect(await nodeOf(page, 'guard').getAttribute('data-type')).toBe('Guardrail');
    await newAgent(page);
    await sendMessage(page, 'turn on the porch light');
    const call = page.getByRole('article', { name: 'Call set_light' });
    await call.waitFor();
    await untilTurnEnds(page);
    const text = (await call.innerText()).replaceAll(/\s+/g, ' ');
    expect(text).toMatch(/name: porch/);
    expect(text).toMatch(/on: true/);
    for (const name of ['guard', 'detect']) expect(await nodeOf(page, name).getAttribute('data-run')).toBe('done');
    expect(await page.locator('[data-run]').count()).toBe(2);
    expect(await page.locator('[data-taken=true]').count()).toBe(1);
    expect(opened.problems).toEqual([]);
  });

  it('shows a broken exit at its node and at its field, where it is mended', async () => {
    await openGraph(page, 'lamp-switch');
    const file = regionOf(page, 'Graph file');
    await file.getByRole('tab', { name: 'Text' }).click();
    const editor = file.getByRole('textbox', { name: 'Graph file text' });
    const text = JSON.stringify(await readLampSwitch(), null, 2);
    await editor.fill(text.replace('"no_tool_called": "answer"', '"no_tool_called": "anser"'));
    await page.locator('[data-node=detect][data-faults="1"]').click();
    await file.getByRole('tab', { name: 'Node' }).click();
    const exit = file.getByRole('combobox', { name: 'exit no_tool_called' });
    expect(await exit.getAttribute('aria-invalid')).toBe('true');
    const description = await page.locator(`[id="${await exit.getAttribute('aria-describedby')}"]`).innerText();
    expect(description).toContain('leads to no node: "anser"; did you mean "answer"?');
    await exit.selectOption('answer');
    await page.locator('[data-node=detect]:not([data-faults="1"])').waitFor();
    expect(await exit.getAttribute('aria-invalid')).not.toBe('true');
  });

  it('gives an awaited call a result, with which the model answers', async () => {
    await openGraph(page, 'weather');
    await newAgent(page);
    await sendMessage(page, 'What is the weather in Oslo?');
    const call = page.getByRole('article', { name: 'Call get_weather' });
    await call.getByRole('textbox', { name: 'Result' }).fill('sunny, 18 degrees');
    await call.getByRole('button', { name: 'Send result' }).click();
    await messagesOf(page).getByText('18 degrees.').waitFor();
    await untilTurnEnds(page);
    expect(await nodeOf(page, 'answer').getAttribute('data-run')).toBe('done');
  });

  it('is used without a mouse: a graph is chosen, an agent made, a message sent', async () => {
    const tabTo = tabsOf(page);
    await tabTo(page.getByRole('combobox', { name: 'Graph', exact: true }));
    await page.keyboard.type('guarded');
    await page.locator('[data-node]').first().waitFor();
    await tabTo(page.getByRole('button', { name: 'New agent', exact: true }));
    await page.keyboard.press('Enter');
    await page.getByRole('textbox', { name: 'Message', exact: true }).waitFor();
    await tabTo(page.getByRole('textbox', { name: 'Message', exact: true }));
    await page.keyboard.type('hello');
    await page.keyboard.press('Enter');
    await untilTurnEnds(page);
    await page.locator('[data-run=done]').first().waitFor();
  });
});

/** The graph of the repository that the server serves by this name. */
const readLampSwitch = async (): Promise<object> =>
  JSON.parse(await readFile(repositoryPath('graphs/lamp-switch.json'), 'utf8')) as object;

/** Presses Tab until an element has the focus. */
const tabsOf =
  (page: Page) =>
  async (target: Locator): Promise<void> => {
    for (let count = 0; count < 100; count++) {
      if ((await target.and(page.locator(':focus')).count()) > 0) return;
      await page.keyboard.press('Tab');
    }
    throw new Error('Tab does not reach it');
  };
