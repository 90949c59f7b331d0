import type { Locator, Page } from 'playwright-core';

/** A region of the playground, by its name. */
export const regionOf = (page: Page, name: 'Canvas' | 'Graph file' | 'Conversation' | 'Turn'): Locator =>
  page.getByRole('region', { name, exact: true });

/** A node on the canvas. */
export const nodeOf = (page: Page, name: string): Locator => page.locator(`[data-node="${name}"]`);

/** Opens a graph of the server and waits until it is drawn. */
export async function openGraph(page: Page, name: string): Promise<void> {
  await page.getByRole('combobox', { name: 'Graph', exact: true }).selectOption(name);
  await page.locator('[data-node]').first().waitFor();
}

/** Opens a graph as a file of the user. */
export async function chooseFile(page: Page, name: string, graph: object): Promise<void> {
  const chosen = page.waitForEvent('filechooser');
  await page.getByRole('button', { name: 'Open file' }).click();
  const buffer = Buffer.from(JSON.stringify(graph, null, 2));
  await (await chosen).setFiles({ name: `${name}.json`, mimeType: 'application/json', buffer });
}

/** Opens a graph as a file of the user and waits until it is drawn. */
export async function openGraphFile(page: Page, name: string, graph: object): Promise<void> {
  await chooseFile(page, name, graph);
  await page.locator('[data-node]').first().waitFor();
}

/** Makes an agent of the graph that is open and waits until it takes messages. */
export async function newAgent(page: Page): Promise<void> {
  await page.getByRole('button', { name: 'New agent', exact: true }).click();
  await page.getByRole('textbox', { name: 'Message', exact: true }).waitFor();
}

/** Sends a message to the active agent. */
export async function sendMessage(page: Page, text: string): Promise<void> {
  await page.getByRole('textbox', { name: 'Message', exact: true }).fill(text);
  await page.getByRole('button', { name: 'Send', exact: true }).click();
}

/** What is written and called in the conversation. */
export const messagesOf = (page: Page): Locator => page.getByRole('log', { name: 'Messages' });

/** Whether the turn has ended: it can be sent to again. */
export async function untilTurnEnds(page: Page): Promise<void> {
  await page.getByRole('button', { name: 'Cancel', exact: true }).waitFor({ state: 'hidden' });
  await page.getByRole('button', { name: 'Send', exact: true }).waitFor();
}
