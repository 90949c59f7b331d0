import { readdirSync, readFileSync } from 'node:fs';
import { gzipSync } from 'node:zlib';
import { beforeAll, describe, expect, it } from 'vitest';
import { axeFindings } from '../helpers/axeFindings.ts';
import { openPage, useChromium, viewports } from '../helpers/chromium.ts';
import {
  chooseFile,
  newAgent,
  nodeOf,
  openGraph,
  openGraphFile,
  regionOf,
  sendMessage,
  untilTurnEnds,
} from '../helpers/playgroundPage.ts';
import { checkRequirement, isSkipped } from '../helpers/requirements.mjs';
import { repositoryPath, useServer } from '../helpers/server.ts';

const folder = repositoryPath('dist/playground/playground');
const files = readdirSync(folder).map((name) => ({ name, content: readFileSync(`${folder}/${name}`) }));
const scripts = files.filter(({ name }) => name.endsWith('.js'));

/** Tries to ask another host and to run a text. Evaluates to the directives that refused it. */
const attempts = `(async () => {
  const refused = [];
  document.addEventListener('securitypolicyviolation', (event) => refused.push(event.effectiveDirective));
  await fetch('http://192.0.2.1/').catch(() => undefined);
  const script = document.createElement('script');
  script.textContent = 'document.title = "changed"';
  document.body.append(script);
  await new Promise((resolve) => setTimeout(resolve));
  return [...refused, document.title];
})()`;

const hostileNames = ['constructor', '__proto__', '"]<img src=x onerror="document.title=1">', 'a\\', '100%22'];
const password = 'open sesame';

const line = (text: string) => ({ type: 'CannedResponse', params: { inline_strings: [text] } });

/** Makes every access to the storage of the browser fail, as it does where cookies are blocked. */
function turnStorageOff(): void {
  for (const name of ['sessionStorage', 'localStorage'])
    Object.defineProperty(globalThis, name, {
      get() {
        throw new DOMException('The storage is turned off.', 'SecurityError');
      },
    });
}

describe('the files of the playground', () => {
  it('have less than 300 KB of script, gzipped, with all that is loaded later', () => {
    expect(scripts.length).toBeGreaterThan(0);
    const sizes = scripts.map(({ content }) => gzipSync(content).byteLength);
    expect(sizes.reduce((sum, size) => sum + size, 0)).toBeLessThan(300_000);
  });

  it('name no other host, but for namespaces and links in texts', () => {
    const hosts = files
      .filter(({ name }) => !name.endsWith('.txt'))
      .flatMap(({ content }) => [...content.toString().matchAll(/\b(?:https?|wss?):\/\/([\w.-]+)/g)])
      .map(([, host]) => host);
    const known = ['127.0.0.1', 'www.w3.org', 'react.dev', 'reactflow.dev'];
    expect(hosts.filter((host = '') => !known.includes(host))).toEqual([]);
  });
});

describe.skipIf(isSkipped('playgroundLimits'))('what the playground may do', () => {
  const server = useServer();
  const locked = useServer({ token: password });
  const browser = useChromium();
  beforeAll(() => checkRequirement('playgroundLimits'));

  it('is asked of its own server only, and keeps to its Content-Security-Policy', async () => {
    await using opened = await openPage(browser(), server().url);
    const { page, requests, problems } = opened;
    await page.getByRole('combobox', { name: 'Graph' }).selectOption('lamp-switch');
    await page.locator('[data-node=detect]').waitFor();
    const { host } = new URL(server().url);
    expect(requests.length).toBeGreaterThan(5);
    expect(requests.filter((address) => new URL(address).host !== host)).toEqual([]);
    expect(problems).toEqual([]);
    // What the policy is for: a script in the page can neither ask another host nor evaluate a text.
    const refusals = await page.evaluate(attempts);
    expect(refusals).toEqual(['connect-src', 'script-src-elem', 'turngraph playground']);
  });

  it('draws and connects nodes of any name, runs none of them as code, and keeps the file', async () => {
    await using opened = await openPage(browser(), server().url);
    const { page, problems } = opened;
    const nodes = Object.fromEntries([...hostileNames.map((name) => [name, line(name)]), ['end', line('Done.')]]);
    await openGraphFile(page, 'names', { start_node: 'end', nodes });
    const drawn = page.locator('[data-node]');
    const names = async () => Promise.all((await drawn.all()).map((node) => node.getAttribute('data-node')));
    await expect.poll(names).toEqual(Object.keys(nodes));
    for (const name of hostileNames) {
      // By an event and not by a place: until the nodes are measured they move.
      await page.locator(`[data-node=${JSON.stringify(name)}]`).dispatchEvent('click');
      await page.getByRole('combobox', { name: 'exit default' }).selectOption('end');
    }
    await page.reload();
    await drawn.first().waitFor();
    const edges = page.locator('[data-edge]');
    // Polled: until the nodes are measured the edges are drawn, taken away and drawn again.
    await expect.poll(() => edges.count()).toBe(hostileNames.length);
    expect(await page.title()).toBe('turngraph playground');
    expect(problems).toEqual([]);
  });

  it('answers at once with a graph that is too large to be drawn', async () => {
    await using opened = await openPage(browser(), server().url);
    const { page } = opened;
    const next = (index: number) => ({ ...line('Hi.'), exits: { default: `n${(index + 1) % 2000}` } });
    const nodes = Object.fromEntries(Array.from({ length: 2000 }, (_, index) => [`n${index}`, next(index)]));
    await chooseFile(page, 'large', { start_node: 'n0', nodes });
    await page.getByRole('status').getByText('The graph has 2000 nodes').waitFor();
    await regionOf(page, 'Graph file')
      .getByRole('tab', { name: /^Faults/ })
      .click();
    await page.getByText('the graph has 2000 nodes, and 256 are allowed').waitFor();
    await openGraph(page, 'lamp-switch');
    await expect.poll(() => page.locator('[data-node]').count()).toBe(4);
  });

  it('works without the storage of the browser, and takes any token', async () => {
    await using opened = await openPage(browser(), locked().url, { before: turnStorageOff });
    const { page } = opened;
    const token = page.getByRole('dialog').getByRole('textbox');
    await token.fill('ключ\n');
    await token.press('Enter');
    await page.getByRole('alert').filter({ hasText: 'token' }).waitFor();
    await token.fill(password);
    await token.press('Enter');
    await openGraph(page, 'lamp-switch');
    await nodeOf(page, 'answer').click();
    await page.getByRole('textbox', { name: 'system_prompt' }).fill('You are a torch.');
    await page.getByText('edited', { exact: true }).waitFor();
    await page.getByRole('button', { name: 'Theme' }).click();
    await page.getByRole('menuitemradio', { name: 'Dark' }).click();
    expect(await page.evaluate('document.documentElement.dataset.theme')).toBe('dark');
    // The browser itself tells of the refused token.
    expect(opened.problems.filter((problem) => !problem.includes('401'))).toEqual([]);
  });

  it('has no serious finding of axe-core in its main states, in both themes and at both widths', async () => {
    await using opened = await openPage(browser(), server().url);
    const { page } = opened;
    const found: string[] = [];
    const look = async (state: string): Promise<void> => {
      const light = await axeFindings(page);
      await page.emulateMedia({ colorScheme: 'dark' });
      const dark = await axeFindings(page, ['color-contrast']);
      await page.emulateMedia({ colorScheme: 'light' });
      found.push(...light.map((finding) => `${state}, light: ${finding}`));
      found.push(...dark.map((finding) => `${state}, dark: ${finding}`));
    };
    await openGraph(page, 'lamp-switch');
    await newAgent(page);
    await sendMessage(page, 'turn on the porch light');
    await page.getByRole('article', { name: 'Call set_light' }).waitFor();
    await untilTurnEnds(page);
    await nodeOf(page, 'detect').click();
    await look('form, call and timeline');
    await regionOf(page, 'Graph file').getByRole('tab', { name: 'Text' }).click();
    await page.getByRole('textbox', { name: 'Graph file text' }).waitFor();
    const edge = (part: string, side: string): string =>
      `document.querySelector('${part}').getBoundingClientRect().${side}`;
    const isFree = `${edge('.inspector-find', 'bottom')} <= ${edge('.cm-editor', 'top')}`;
    expect(await page.evaluate(isFree), 'the search covers no text').toBe(true);
    await regionOf(page, 'Turn').getByRole('tab', { name: 'Prompt' }).click();
    await look('text and prompt');
    await regionOf(page, 'Turn').getByRole('tab', { name: 'Parameters' }).click();
    const cutNames = `[...document.querySelectorAll('.turn-field > label')]
      .filter((label) => label.scrollWidth > label.clientWidth).map((label) => label.textContent)`;
    expect(await page.evaluate(cutNames)).toEqual([]);
    await regionOf(page, 'Graph file')
      .getByRole('tab', { name: /^Faults/ })
      .click();
    await look('faults and parameters');
    await page.getByRole('button', { name: 'Models', exact: true }).click();
    await page.getByRole('dialog', { name: 'Models' }).getByText('turngraph-demo').first().waitFor();
    await page.getByRole('button', { name: 'Choose a model for this computer' }).click();
    await page.getByRole('article', { name: 'Suggested: turngraph-demo' }).waitFor();
    await look('models');
    await page.keyboard.press('Escape');
    await page.setViewportSize(viewports.phone);
    for (const panel of ['Graph', 'Edit', 'Talk', 'Turn']) {
      await page.getByRole('navigation', { name: 'Panels' }).getByRole('button', { name: panel }).click();
      expect(await page.evaluate('document.documentElement.scrollWidth'), panel).toBeLessThanOrEqual(390);
      await nodeOf(page, 'guard').waitFor({ state: panel === 'Graph' ? 'visible' : 'hidden' });
      await look(`${panel} on a phone`);
    }
    expect(found).toEqual([]);
  });
});
