// npm run build && node scripts/playground/pictures.mjs [NAME...]: makes the pictures of docs/ from the real page, with the demo
// model, in both themes.
import { mkdir, writeFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import { openGraph, openPlayground } from './openPlayground.mjs';
import { palettePng } from './palettePng.mjs';

const folder = fileURLToPath(new URL('../../docs/pictures/', import.meta.url));
const desktop = { width: 1280, height: 800 };
const phone = { width: 390, height: 844 };

/** @typedef {import('playwright-core').Page} Page */

/** @type {(page: Page, name: string) => import('playwright-core').Locator} */
const region = (page, name) => page.getByRole('region', { name, exact: true });

/** @type {(page: Page, graph: string, text: string) => Promise<void>} */
async function talk(page, graph, text) {
  await openGraph(page, graph);
  await page.getByRole('button', { name: 'New agent', exact: true }).click();
  const message = page.getByRole('textbox', { name: 'Message', exact: true });
  await message.fill(text);
  await page.getByRole('button', { name: 'Send', exact: true }).click();
  await page.getByRole('article').first().waitFor();
}

/** @type {(page: Page) => Promise<void>} */
const untilTurnEnds = (page) => page.getByRole('button', { name: 'Cancel', exact: true }).waitFor({ state: 'hidden' });

/** What each picture shows. @type {Readonly<Record<string, { size: object, show: (page: Page) => Promise<void> }>>} */
const pictures = {
  turn: {
    size: desktop,
    async show(page) {
      await talk(page, 'lamp-switch', 'Please turn on the porch light.');
      await untilTurnEnds(page);
      await page.locator('[data-node=detect]').click();
    },
  },
  fault: {
    size: desktop,
    async show(page) {
      await openGraph(page, 'lamp-switch');
      const file = region(page, 'Graph file');
      await file.getByRole('tab', { name: 'Text' }).click();
      const graph = await (await page.request.get('/graphs/lamp-switch')).json();
      const broken = JSON.stringify(graph, null, 2).replace('"no_tool_called": "answer"', '"no_tool_called": "anser"');
      await file.getByRole('textbox', { name: 'Graph file text' }).fill(broken);
      await page.locator('[data-node=detect][data-faults]').click();
      await file.getByRole('tab', { name: 'Node' }).click();
      await page.locator('[aria-invalid=true]').first().waitFor();
    },
  },
  prompt: {
    size: desktop,
    async show(page) {
      await talk(page, 'weather', 'What is the weather in Oslo?');
      await page.getByRole('textbox', { name: 'Result' }).fill('sunny, 18 degrees');
      await region(page, 'Turn').getByRole('tab', { name: 'Prompt' }).click();
    },
  },
  phone: {
    size: phone,
    async show(page) {
      await page.setViewportSize(desktop);
      await talk(page, 'lamp-switch', 'Please turn on the porch light.');
      await untilTurnEnds(page);
      await page.setViewportSize(phone);
      await page.getByRole('navigation', { name: 'Panels' }).getByRole('button', { name: 'Talk' }).click();
    },
  },
};

// The page's own Content-Security-Policy allows no picture but those of the server, so another page reads it.
/** @type {(page: Page) => Promise<{ width: number, height: number, rgba: Uint8Array }>} */
async function pixelsOf(page) {
  const png = (await page.screenshot({ animations: 'disabled' })).toString('base64');
  const blank = await page.context().newPage();
  const { width, height, text } = await blank.evaluate(async (base64) => {
    const bytes = Uint8Array.from(atob(base64), (character) => character.charCodeAt(0));
    const bitmap = await createImageBitmap(new Blob([bytes], { type: 'image/png' }));
    const canvas = new OffscreenCanvas(bitmap.width, bitmap.height).getContext('2d');
    canvas.drawImage(bitmap, 0, 0);
    const { data } = canvas.getImageData(0, 0, bitmap.width, bitmap.height);
    let characters = '';
    for (let start = 0; start < data.length; start += 8192)
      characters += String.fromCharCode(...data.subarray(start, start + 8192));
    return { width: bitmap.width, height: bitmap.height, text: btoa(characters) };
  }, png);
  return { width, height, rgba: Buffer.from(text, 'base64') };
}

const names = process.argv.length > 2 ? process.argv.slice(2) : Object.keys(pictures);
await mkdir(folder, { recursive: true });
const playground = await openPlayground();
try {
  for (const name of names) {
    for (const colorScheme of ['light', 'dark']) {
      const { size, show } = pictures[name];
      const page = await playground.open({ viewport: size, colorScheme });
      await show(page);
      await page.mouse.move(0, 0);
      await writeFile(`${folder}${name}-${colorScheme}.png`, palettePng(await pixelsOf(page)));
      await page.context().close();
    }
  }
} finally {
  await playground[Symbol.asyncDispose]();
}
