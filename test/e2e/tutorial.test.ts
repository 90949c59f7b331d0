import { spawn, type ChildProcessWithoutNullStreams } from 'node:child_process';
import { existsSync } from 'node:fs';
import { cp, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { argumentsOf, readFirstLine, untilExit, useCommandHost } from '../cli/command.ts';
import { openPage, useChromium, viewports, type WatchedPage } from '../helpers/chromium.ts';
import { blocksOf, textOf } from '../helpers/docPages.ts';
import { checkRequirement, isSkipped } from '../helpers/requirements.mjs';
import { scriptedEngine } from '../helpers/resultGraphs.ts';
import { startTestServer } from '../helpers/server.ts';

const page = 'docs/tutorial.md';
const blocks = blocksOf(page);
const blockOf = (key: string): string => {
  const block = blocks.find((each) => each.key === `${page}#${key}`);
  if (!block) throw new Error(`${page} has no block ${key}`);
  return block.code;
};
type Json = Record<string, unknown>;

// The commands run in one process, which loads their modules once; one runs by `npx` as it stands.
const runInHost = useCommandHost();

/** A script of the page: `changes` gets the moods that are shown and the texts of Mira's lines. */
const watchPage = `
  globalThis.changes = [];
  new MutationObserver((records) => {
    for (const { type, target } of records)
      if (type === 'attributes') changes.push('mood ' + target.dataset.mood);
      else if (target.className === 'mira') changes.push('text ' + target.textContent);
  }).observe(document, { subtree: true, childList: true, attributeFilter: ['data-mood'] });
`;

const withoutSpace = (text: string): string => text.replaceAll(/[\s,]+/g, '');

describe.skipIf(isSkipped('tutorial'))('the tutorial, from the first block to the last, in an empty folder', () => {
  const browser = useChromium();
  let parent: string;
  let folder: string;
  let server: ChildProcessWithoutNullStreams | undefined;
  let opened: WatchedPage;
  let largerServer: AsyncDisposable & { readonly port: number };

  const read = (file: string): Promise<string> => readFile(join(folder, file), 'utf8');
  const run = async (command: string): Promise<string> => {
    // The server of the game has an engine process; a command needs none.
    const env = { ...process.env, NO_COLOR: '1', TURNGRAPH_ENGINE_PROCESS: 'in' };
    const child = spawn(command, { cwd: folder, shell: true, env });
    child.stdin.end();
    const { out, err, code } = await untilExit(child);
    expect({ command, code, err: code === 0 ? '' : err + out }).toEqual({ command, code: 0, err: '' });
    return out;
  };
  /** Runs the commands of a block, those of turngraph, also by `npm test`, in one process. */
  const runAll = async (block: string): Promise<string> => {
    const { scripts } = JSON.parse(await read('package.json')) as { readonly scripts: { readonly test: string } };
    let all = '';
    for (const line of block.replace('npm test', scripts.test).trim().split('\n')) {
      const args = argumentsOf(line);
      if (!args) {
        all += await run(line);
        continue;
      }
      const { out, err, code } = await runInHost(args, '', {}, folder);
      expect({ line, code, err: code === 0 ? '' : err + out }).toEqual({ line, code: 0, err: '' });
      all += out;
    }
    return all;
  };
  const start = async (port = '0'): Promise<string> => {
    const child = spawn(process.execPath, ['server.mjs'], { cwd: folder, env: { ...process.env, PORT: port } });
    server = child;
    return /http:\S+/.exec(await readFirstLine(child))?.[0] ?? '';
  };
  const stop = async (): Promise<void> => {
    server?.kill('SIGINT');
    if (server) await untilExit(server);
    server = undefined;
  };
  /** Says something, and returns what is written until Mira has answered. */
  const say = (text: string): Promise<string> => sayTo(opened.page, text);
  const sayTo = async (game: Page, text: string): Promise<string> => {
    await game.waitForFunction(`!document.querySelector('#say').inert`);
    const before = (await game.locator('#talk').innerText()).length;
    await game.locator('input').fill(text);
    await game.getByRole('button', { name: 'Say' }).click();
    await game.waitForFunction(`!document.querySelector('#say').inert`);
    return (await game.locator('#talk').innerText()).slice(before);
  };
  /** Adds a block at the end of a list of a JSON file. */
  const addTo = async (file: string, path: readonly string[], block: string): Promise<void> => {
    const content = JSON.parse(await read(file)) as Json;
    const list = path.reduce((value, key) => value[key] as Json, content) as unknown as unknown[];
    list.push(JSON.parse(block));
    await writeFile(join(folder, file), JSON.stringify(content, undefined, 2));
  };
  const reload = (): Promise<unknown> => opened.page.reload();
  const greeting = (game: Page, text: string): Promise<void> => game.getByText(text).waitFor();
  /** Notes from now on what changes in the page: the moods, and the text of each line of Mira. */
  const watch = (game: Page): Promise<unknown> => game.evaluate(watchPage);
  const changes = (game: Page): Promise<readonly string[]> => game.evaluate('changes');

  /** Opens a copy of the game whose larger model, here the mock engine, writes mood and words in one reply. */
  const openLarger = async (): Promise<WatchedPage> => {
    const copy = join(parent, 'larger');
    for (const part of ['graphs', 'page']) await cp(join(folder, part), join(copy, part), { recursive: true });
    const graph = JSON.parse(await read('graphs/keeper.json')) as { nodes: Record<string, Json> };
    const { feel: _, lore, talk, ...nodes } = graph.nodes;
    const answer_fields = JSON.parse(blockOf('6-mood json 1')) as unknown;
    const changed = {
      ...nodes,
      lore: { ...lore, exits: { ...(lore?.['exits'] as Json), not_found: 'talk' } },
      talk: { ...talk, params: { ...(talk?.['params'] as Json), answer_fields } },
    };
    await writeFile(join(copy, 'graphs/keeper.json'), JSON.stringify({ ...graph, nodes: changed }));
    const game = await read('page/game.js');
    const options = game.replace('send(text, { tools, ', (start) => start + blockOf('6-mood js 1'));
    await writeFile(join(copy, 'page/game.js'), options);
    const engine = scriptedEngine([
      { match: 'Good evening', node: 'talk', answer: '{"mood":"sad","say":"My cat is ill."}' },
      { match: '', answer: 'No call.' },
    ]);
    const folders = { graphs: join(copy, 'graphs'), page: join(copy, 'page'), memory: join(copy, 'memory') };
    largerServer = await startTestServer({ ...folders, engines: { 'llama-cpp': engine } });
    return openPage(browser(), `http://127.0.0.1:${largerServer.port}`);
  };

  beforeAll(async () => {
    checkRequirement('tutorial');
    parent = await mkdtemp(join(tmpdir(), 'turngraph-tutorial-'));
    folder = join(parent, 'my-game');
  });
  afterAll(async () => {
    await opened?.[Symbol.asyncDispose]();
    await largerServer?.[Symbol.asyncDispose]();
    await stop();
    await rm(parent, { recursive: true, force: true });
  });

  it('starts a game that plays in a browser', async () => {
    expect(blockOf('1-the-folder sh 1')).toBe('npx turngraph new my-game\ncd my-game\nnpm start\n');
    expect(await runInHost(['new', 'my-game'], '', {}, parent)).toMatchObject({ code: 0, err: '' });
    const rows = [...textOf(page).matchAll(/^\| `([^`]+)` +\|/gm)].map(([, file = '']) => file);
    expect(rows.length).toBeGreaterThan(3);
    expect(rows.filter((file) => !existsSync(join(folder, file)))).toEqual([]);
    opened = await openPage(browser(), await start());
    await greeting(opened.page, 'Welcome to The Blue Door!');
    expect(await say('Good evening!')).toMatch(/\w/);
    expect(await say('Turn on the porch lamp, please.')).toContain('The porch lamp is on.');
    expect(await opened.page.locator('[data-lamp=porch].on').count()).toBe(1);
    await opened.page.setViewportSize(viewports.phone);
    expect(await opened.page.evaluate('document.documentElement.scrollWidth')).toBe(viewports.phone.width);
    await opened.page.setViewportSize(viewports.desktop);
  });

  it('shows parts of its files as they are', async () => {
    const graph = withoutSpace(await read('graphs/keeper.json'));
    const game = withoutSpace(await read('page/game.js'));
    expect(graph).toContain(withoutSpace(blockOf('2-the-graph json 1')));
    for (const key of [
      '3-the-page js 1',
      '3-the-page js 2',
      '3-the-page js 3',
      '4-a-tool-with-a-result js 1',
      '7-save-load-remember js 1',
      '7-save-load-remember js 2',
    ])
      expect(game).toContain(withoutSpace(blockOf(key)));
    expect(await run(blockOf('2-the-graph sh 1'))).toContain('flowchart TD');
    expect(await runAll(blockOf('2-the-graph sh 2'))).toContain('graphs/keeper.json: ok');
  });

  it('has a tool that fails, and takes another one', async () => {
    expect(await say('Open the cellar door.')).toContain('I cannot do that: it is too dark in the hall.');
    await addTo('graphs/keeper.json', ['nodes', 'act', 'params', 'tools'], blockOf('4-a-tool-with-a-result json 1'));
    const game = await read('page/game.js');
    await writeFile(
      join(folder, 'page/game.js'),
      game.replace('const tools = {\n', `const tools = {\n${blockOf('4-a-tool-with-a-result js 2')}`),
    );
    await reload();
    expect(await say('Ring the bell three times.')).toContain('The bell rings.');
    await expect.poll(() => opened.page.locator('.bell').count()).toBe(3);
  });

  it('takes an entry of lore', async () => {
    await addTo('graphs/lore/inn.kb.json', ['records'], blockOf('5-lore json 1'));
    await reload();
    expect(await say('Who is the captain?')).toContain('Captain Orr left');
    expect(await runAll(blockOf('5-lore sh 1'))).toContain('captain');
  });

  it('shows its mood before its first word', async () => {
    for (const [text, mood] of [
      ['You are a stupid liar!', 'angry'],
      ['My dog died today.', 'sad'],
      ['Thank you, you are wonderful!', 'happy'],
    ] as const) {
      await watch(opened.page);
      await say(text);
      const [first, ...texts] = (await changes(opened.page)).filter((change) => change !== 'text …');
      expect({ text, first }).toEqual({ text, first: `mood ${mood}` });
      expect(texts.at(-1)).toMatch(/^text \w/);
      expect(await opened.page.locator('#mira text').textContent()).toBe(mood);
    }
  });

  it('takes the mood from a larger model, before its first word', async () => {
    await using larger = await openLarger();
    await greeting(larger.page, 'Welcome to The Blue Door!');
    await watch(larger.page);
    await sayTo(larger.page, 'Good evening!');
    const seen = (await changes(larger.page)).filter((change) => change !== 'text …');
    expect(seen[0]).toBe('mood sad');
    expect(seen.at(-1)).toBe('text My cat is ill.');
  });

  it.each(['nonsense', '{"history":"nonsense"}', '{"world":{"lamps":{"attic":true}},"history":[{"oops":1}]}'])(
    'begins anew with a save that it cannot use: %s',
    async (saved) => {
      await opened.page.evaluate(`localStorage.setItem('the-blue-door', ${JSON.stringify(saved)})`);
      await reload();
      await greeting(opened.page, 'Welcome to The Blue Door!');
      expect(await say('Good evening!')).toMatch(/\w/);
      await opened.page.getByRole('button', { name: 'New game' }).click();
      await greeting(opened.page, 'Welcome to The Blue Door!');
    },
  );

  it('remembers a name over a new game, and goes on where it was after a restart', async () => {
    expect(await say('My name is Tom.')).toContain('I will remember you, Tom.');
    await opened.page.getByRole('button', { name: 'New game' }).click();
    await greeting(opened.page, 'Welcome back, Tom!');
    expect(await say('Turn on the porch lamp, please.')).toContain('The porch lamp is on.');
    await stop();
    await opened.page.getByText('No connection. Trying again…').waitFor();
    await start(new URL(opened.page.url()).port);
    // The session is another one: the game opens its storage again.
    expect(await say('Call me Marta.')).toContain('I will remember you, Marta.');
    expect(await say('Turn on the hall lamp, please.')).toContain('The hall lamp is on.');
    await reload();
    await greeting(opened.page, 'Welcome back, Marta!');
    await expect.poll(() => opened.page.locator('[data-lamp].on').count()).toBe(2);
    // Another player has another key.
    await using other = await openPage(browser(), opened.page.url());
    await greeting(other.page, 'Welcome to The Blue Door!');
  });

  it('tests the game without a model, and with it', async () => {
    expect(await run(blockOf('8-test sh 1'))).toContain('5 passed');
    await addTo('graphs/tests/keeper.cases.json', ['cases'], blockOf('8-test json 1'));
    expect(await runAll(blockOf('8-test sh 2'))).toContain('6 passed');
    expect(await runAll(blockOf('8-test sh 3'))).toContain('6 passed');
  });

  it('makes a folder for players', async () => {
    await runAll(blockOf('9-ship sh 1'));
    expect(existsSync(join(folder, 'dist', 'graphs', 'keeper.json'))).toBe(true);
  });
});
