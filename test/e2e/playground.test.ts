import { readFile } from 'node:fs/promises';
import type { Locator, Page } from 'playwright-core';
import { beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { useChromium, usePlayground } from '../helpers/chromium.ts';
import { TcpProxy } from '../helpers/tcpProxy.mjs';
import {
  messagesOf,
  newAgent,
  nodeOf,
  openGraph,
  openGraphFile,
  regionOf,
  sendMessage,
  untilTurnEnds,
} from '../helpers/playgroundPage.ts';
import { checkRequirement, isSkipped } from '../helpers/requirements.mjs';
import { repositoryPath, startTestServer, TestClient, useServer } from '../helpers/server.ts';

type Box = NonNullable<Awaited<ReturnType<Locator['boundingBox']>>>;

/** A lamp that tells always the same story, slowly enough to be interrupted. */
const slowLamp = {
  default_model_name: 'turngraph-demo',
  start_node: 'answer',
  nodes: {
    answer: {
      type: 'Generate',
      params: { system_prompt: 'You are a lamp. Be brief.', sampling: { temperature: 0, max_tokens_per_second: 6 } },
    },
  },
};
const storyRequest = 'Tell me a long story.';

describe.skipIf(isSkipped('playground'))('the playground with the demo model', () => {
  const server = useServer();
  const browser = useChromium();
  /** The story, as another client of the server reads it. */
  let story = '';
  const opened = usePlayground(browser, () => server().url);
  let page: Page;
  beforeAll(async () => {
    checkRequirement('playground');
    await using client = await TestClient.connect(server().url, 'turngraph.v1.json', 'llama-cpp');
    story = (await client.sendMessage(await client.createAgent(slowLamp), storyRequest)).text;
  });
  beforeEach(() => {
    page = opened().page;
  });

  it('suggests models for the computer, and uses the one that is chosen', async () => {
    await page.getByRole('button', { name: 'Models', exact: true }).click();
    await page.getByRole('button', { name: 'Choose a model for this computer' }).click();
    const suggestion = page.getByRole('article', { name: 'Suggested: turngraph-demo' });
    // The speed is an estimate until turns of a server on this computer have been measured.
    expect(await suggestion.innerText()).toMatch(
      /it fits in memory(; \d+ tokens per second were measured)?, about \d+ tokens per second, .* on disk/,
    );
    await suggestion.getByRole('button', { name: 'Use' }).click();
    await suggestion.getByRole('button', { name: 'Chosen' }).waitFor();
    expect(await page.evaluate('localStorage.getItem("turngraph.settings")')).toContain(
      '"defaultModelName":"turngraph-demo"',
    );
  });

  it('draws a graph, lights up the path of a turn, and shows its call with typed arguments', async () => {
    await openGraph(page, 'lamp-switch');
    await expect.poll(() => page.locator('[data-node]').count()).toBe(4);
    await expect.poll(() => nodeOf(page, 'guard').getAttribute('data-type')).toBe('Guardrail');
    await newAgent(page);
    await sendMessage(page, 'turn on the porch light');
    const call = page.getByRole('article', { name: 'Call set_light' });
    await call.waitFor();
    await untilTurnEnds(page);
    const text = (await call.innerText()).replaceAll(/\s+/g, ' ');
    expect(text).toMatch(/name: porch/);
    expect(text).toMatch(/on: true/);
    for (const name of ['guard', 'detect'])
      await expect.poll(() => nodeOf(page, name).getAttribute('data-run')).toBe('done');
    await expect.poll(() => page.locator('[data-run]').count()).toBe(2);
    await expect.poll(() => page.locator('[data-taken=true]').count()).toBe(1);
    await sendMessage(page, 'hello');
    await untilTurnEnds(page);
    await page.locator('[data-node=answer][data-run]').waitFor();
    await messagesOf(page).getByText('turn on the porch light').click();
    await page.locator('[data-node=answer]:not([data-run])').waitFor();
    await expect.poll(() => page.locator('[data-run]').count()).toBe(2);
    expect(opened().problems).toEqual([]);
  });

  it('draws no node over another after a reload, however late the node types come', async () => {
    await openGraph(page, 'lamp-switch');
    await page.route('**/graph.schema.json', async (route) => {
      await page.locator('[data-node]').first().waitFor();
      await route.continue();
    });
    await page.reload();
    await page.locator('[data-exit]').first().waitFor();
    await expect.poll(() => page.locator('[data-node]').count()).toBe(4);
    const isOver = (a: Box, b: Box): boolean =>
      a.x < b.x + b.width && b.x < a.x + a.width && a.y < b.y + b.height && b.y < a.y + a.height;
    // The nodes move when their sizes are known.
    const overlaps = async (): Promise<unknown> => {
      const nodes = await page.locator('[data-node]').all();
      const boxes = await Promise.all(nodes.map((node) => node.boundingBox()));
      const pairs = boxes.flatMap((a, index) => boxes.slice(index + 1).map((b) => [a, b]));
      return pairs.filter(([a, b]) => !a || !b || isOver(a, b));
    };
    await expect.poll(overlaps).toEqual([]);
  });

  it('makes a refused agent again with the next message, once its graph is mended', async () => {
    await openGraphFile(page, 'greeter', {
      default_model_name: 'no-such-model',
      start_node: 'greet',
      nodes: { greet: { type: 'Generate', params: { system_prompt: 'You are a lamp. Be brief.' } } },
    });
    await page.getByRole('button', { name: 'New agent', exact: true }).click();
    const conversation = regionOf(page, 'Conversation');
    await conversation.getByText('The agent could not be made.').waitFor();
    const file = regionOf(page, 'Graph file');
    await file.getByRole('tab', { name: 'Text' }).click();
    const editor = file.getByRole('textbox', { name: 'Graph file text' });
    const graph = {
      start_node: 'greet',
      nodes: { greet: { type: 'CannedResponse', params: { inline_strings: ['Hi!'] } } },
    };
    await editor.fill(JSON.stringify(graph, null, 2));
    await conversation.getByText('the next message makes the agent again').waitFor();
    await sendMessage(page, 'hello');
    await messagesOf(page).getByText('Hi!').waitFor();
    await expect.poll(() => conversation.getByText('The agent could not be made.').count()).toBe(0);
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
    await expect.poll(() => exit.getAttribute('aria-invalid')).toBe('true');
    const description = await page.locator(`[id="${await exit.getAttribute('aria-describedby')}"]`).innerText();
    expect(description).toContain('leads to no node: "anser"; did you mean "answer"?');
    await exit.selectOption('answer');
    await page.locator('[data-node=detect]:not([data-faults="1"])').waitFor();
    await expect.poll(() => exit.getAttribute('aria-invalid')).not.toBe('true');
  });

  it('leads an exit to the node on which its wire is dropped, wherever on it', async () => {
    await openGraph(page, 'lamp-switch');
    // On a busy machine the graph may move once more before the press, and what is dragged then is the canvas.
    const drag = async (): Promise<boolean> => {
      await nodeOf(page, 'detect').locator('[data-exit=tool_called] .react-flow__handle').hover();
      await page.mouse.down();
      for (const x of [110, 120]) await nodeOf(page, 'refuse').hover({ position: { x, y: 24 }, force: true });
      const isDragged = (await page.locator('.react-flow__connection').count()) > 0;
      if (!isDragged) await page.mouse.up();
      return isDragged;
    };
    await expect.poll(drag).toBe(true);
    await page.mouse.up();
    await nodeOf(page, 'detect').click();
    await page.getByRole('tab', { name: 'Node' }).click();
    const choice = page.getByRole('combobox', { name: 'exit tool_called' });
    await expect.poll(() => choice.inputValue()).toBe('refuse');
  });

  it('saves what is shown: the text with the edits of the form', async () => {
    await openGraph(page, 'lamp-switch');
    await nodeOf(page, 'answer').click();
    await page.getByRole('textbox', { name: 'system_prompt' }).fill('You are a torch.');
    const started = page.waitForEvent('download');
    await page.getByRole('button', { name: 'Save' }).click();
    const download = await started;
    expect(download.suggestedFilename()).toBe('lamp-switch.json');
    const served = await readLampSwitch();
    served.nodes.answer.params.system_prompt = 'You are a torch.';
    expect(JSON.parse(await readFile(await download.path(), 'utf8'))).toEqual(served);
  });

  it('changes a live parameter of an agent, which holds from its next turn on', async () => {
    await openGraphFile(page, 'slow-lamp', slowLamp);
    await newAgent(page);
    await sendMessage(page, storyRequest);
    await messagesOf(page).getByText(story).waitFor();
    await untilTurnEnds(page);
    const turn = regionOf(page, 'Turn');
    await turn.getByRole('tab', { name: 'Parameters' }).click();
    const limit = turn.getByRole('group', { name: 'sampling' }).getByRole('textbox', { name: /max_tokens$/ });
    await limit.fill('2');
    await limit.press('Enter');
    await turn.getByText('1 change').waitFor();
    await sendMessage(page, storyRequest);
    await messagesOf(page).getByText('The text was cut off: max_tokens').waitFor();
  });

  it('cancels an answer and keeps what has been said', async () => {
    await openGraphFile(page, 'slow-lamp', slowLamp);
    await newAgent(page);
    await sendMessage(page, storyRequest);
    await messagesOf(page).getByText(story.slice(0, 4)).waitFor();
    await page.getByRole('button', { name: 'Cancel', exact: true }).click();
    await untilTurnEnds(page);
    const text = await messagesOf(page).innerText();
    expect(text).toContain(story.slice(0, 4));
    expect(text).not.toContain(story);
    expect(text).toContain('Cancelled here.');
    await regionOf(page, 'Turn').getByText('cancelled here').waitFor();
  });

  it('resumes after its connection was cut in the middle of an answer, and loses no text', async () => {
    await using proxy = await TcpProxy.start(server().url);
    await page.goto(httpOf(proxy.url));
    await openGraphFile(page, 'slow-lamp', slowLamp);
    await newAgent(page);
    await sendMessage(page, storyRequest);
    await messagesOf(page).getByText(story.slice(0, 4)).waitFor();
    proxy.cut();
    await page.getByRole('status', { name: 'Connection' }).getByText('reconnecting').waitFor();
    await page.getByRole('status', { name: 'Connection' }).getByText('connected', { exact: true }).waitFor();
    await messagesOf(page).getByText(story).waitFor();
    await untilTurnEnds(page);
    expect(proxy.cuts).toBe(1);
  });

  it('gives an awaited call a result, with which the model answers', async () => {
    await openGraph(page, 'weather');
    await newAgent(page);
    await sendMessage(page, 'What is the weather in Oslo?');
    const call = page.getByRole('article', { name: 'Call get_weather' });
    await call.getByRole('textbox', { name: 'Result' }).fill('sunny, 18 degrees');
    await messagesOf(page).getByText('waits for results').waitFor();
    await regionOf(page, 'Turn').getByRole('rowheader', { name: 'detect waits for results' }).waitFor();
    await call.getByRole('button', { name: 'Send result' }).click();
    await messagesOf(page).getByText('18 degrees.').waitFor();
    await untilTurnEnds(page);
    await expect.poll(() => nodeOf(page, 'answer').getAttribute('data-run')).toBe('done');
  });

  it('writes a program for the open graph, with a function for its tool', async () => {
    await openGraph(page, 'weather');
    await page.getByRole('button', { name: 'Copy client code' }).click();
    const dialog = page.getByRole('dialog', { name: 'Client code' });
    await dialog.getByRole('tab', { name: 'Page' }).click();
    const code = (await dialog.locator('pre').textContent()) ?? '';
    for (const part of ["from './turngraph.js'", 'get_weather: (args) => {', "graphName: 'weather'"])
      expect(code).toContain(part);
  });

  it('checks and plays a graph that only names its tools', async () => {
    const params = { tools: ['ring_bell'], tool_choice: 'ring_bell' };
    const lost = { type: 'CannedResponse', params: { inline_strings: ['Hi!'] } };
    const nodes = { act: { type: 'ToolCall', params }, lost };
    await openGraphFile(page, 'bell', { default_model_name: 'turngraph-demo', start_node: 'act', nodes });
    await expect.poll(() => nodeOf(page, 'act').innerText()).toContain('1 tool: ring_bell');
    await newAgent(page);
    await sendMessage(page, 'Ring the bell, please.');
    await page.getByRole('article', { name: 'Call ring_bell' }).waitFor();
    await untilTurnEnds(page);
    await regionOf(page, 'Graph file').getByRole('tab', { name: 'Faults' }).click();
    // A name without its tool would be an error, and then there are no warnings.
    await page.getByRole('list', { name: 'Faults' }).getByText('lost is unreachable').waitFor();
    expect(opened().problems).toEqual([]);
  });

  it('is used without a mouse: a graph is chosen, an agent made, a message sent', async () => {
    const tabTo = tabsOf(page);
    await tabTo(page.getByRole('combobox', { name: 'Graph', exact: true }));
    await page.getByRole('option', { name: 'guarded-chat' }).waitFor({ state: 'attached' });
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

  it('asks for the token, says when it is wrong, and connects with the right one', async () => {
    await using locked = await startTestServer({ token: 'open sesame' });
    await page.goto(httpOf(locked.url));
    const dialog = page.getByRole('dialog', { name: 'Token' });
    for (const token of ['wrong', 'open sesame']) {
      await dialog.getByLabel('Token').fill(token);
      await dialog.getByRole('button', { name: 'Connect' }).click();
    }
    await page.getByRole('status', { name: 'Connection' }).getByText('connected', { exact: true }).waitFor();
    await openGraph(page, 'lamp-switch');
  });
});

const httpOf = (url: string): string => `${url.replace('ws:', 'http:')}/`;

/** The graph of the repository that the server serves by this name. */
const readLampSwitch = async (): Promise<LampSwitch> =>
  JSON.parse(await readFile(repositoryPath('graphs/lamp-switch.json'), 'utf8')) as LampSwitch;

interface LampSwitch {
  readonly nodes: { readonly answer: { readonly params: { system_prompt: string } } };
}

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
