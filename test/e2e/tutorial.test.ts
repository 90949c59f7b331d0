import { spawn, type ChildProcessWithoutNullStreams } from 'node:child_process';
import { existsSync } from 'node:fs';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { argumentsOf, readFirstLine, untilExit, useCommandHost } from '../cli/command.ts';
import { openPage, useChromium, type WatchedPage } from '../helpers/chromium.ts';
import { blocksOf, textOf } from '../helpers/docPages.ts';
import { checkRequirement, isSkipped } from '../helpers/requirements.mjs';

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

const withoutSpace = (text: string): string => text.replaceAll(/[\s,]+/g, '');

describe.skipIf(isSkipped('tutorial'))('the tutorial, from the first block to the last, in an empty folder', () => {
  const browser = useChromium();
  let parent: string;
  let folder: string;
  let server: ChildProcessWithoutNullStreams | undefined;
  let opened: WatchedPage;

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
  /** Runs the commands of a block, those of turngraph in one process. */
  const runAll = async (block: string): Promise<string> => {
    let all = '';
    for (const line of block.trim().split('\n')) {
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
  const say = async (text: string): Promise<string> => {
    const { page: game } = opened;
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

  beforeAll(async () => {
    checkRequirement('tutorial');
    parent = await mkdtemp(join(tmpdir(), 'turngraph-tutorial-'));
    folder = join(parent, 'my-game');
  });
  afterAll(async () => {
    await opened?.[Symbol.asyncDispose]();
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
      '6-save-and-load js 1',
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
    await greeting(opened.page, 'Welcome back!');
    expect(await say('Ring the bell three times.')).toContain('The bell rings.');
    await expect.poll(() => opened.page.locator('.bell').count()).toBe(3);
  });

  it('takes an entry of lore', async () => {
    await addTo('graphs/lore/inn.kb.json', ['records'], blockOf('5-lore json 1'));
    await reload();
    await greeting(opened.page, 'Welcome back!');
    expect(await say('Who is the captain?')).toContain('Captain Orr left');
    expect(await runAll(blockOf('5-lore sh 1'))).toContain('captain');
  });

  it('goes on where it was after a restart, with and without a reload', async () => {
    await stop();
    await opened.page.getByText('No connection. Trying again…').waitFor();
    await start(new URL(opened.page.url()).port);
    expect(await say('Turn on the hall lamp, please.')).toContain('The hall lamp is on.');
    await reload();
    await greeting(opened.page, 'Welcome back!');
    expect(await opened.page.locator('[data-lamp].on').count()).toBe(2);
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

  it('tests the game without a model, and with it', async () => {
    expect(await run(blockOf('7-test sh 1'))).toContain('3 passed');
    await addTo('graphs/tests/keeper.cases.json', ['cases'], blockOf('7-test json 1'));
    expect(await runAll(blockOf('7-test sh 2'))).toContain('4 passed');
    expect(await runAll(blockOf('7-test sh 3'))).toContain('4 passed');
  });

  it('makes a folder for players', async () => {
    await runAll(blockOf('8-ship sh 1'));
    expect(existsSync(join(folder, 'dist', 'graphs', 'keeper.json'))).toBe(true);
  });
});
