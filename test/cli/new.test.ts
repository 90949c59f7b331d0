import { existsSync } from 'node:fs';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { useCommandHost } from './command.ts';

const runCommand = useCommandHost();

let folder: string;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'turngraph-new-'));
});
afterEach(() => rm(folder, { recursive: true }));

// That the game plays is a part of test/e2e/tutorial.test.ts.
describe('turngraph new', () => {
  it('writes a game that has all it needs, and says how to start it', async () => {
    const { out, code } = await runCommand(['new', 'My Lamp Game!'], '', {}, folder);
    expect({ out, code }).toEqual({
      out: 'My Lamp Game! is ready. Next:\n\n  cd "My Lamp Game!"\n  npm start\n\n',
      code: 0,
    });
    const game = join(folder, 'My Lamp Game!');
    const { name, dependencies } = JSON.parse(await readFile(join(game, 'package.json'), 'utf8')) as {
      name: string;
      dependencies: { turngraph: string };
    };
    expect(name).toBe('my-lamp-game');
    expect(dependencies.turngraph).toMatch(/^file:/);
    expect(existsSync(join(game, dependencies.turngraph.slice('file:'.length), 'package.json'))).toBe(true);
    const { $schema } = JSON.parse(await readFile(join(game, 'graphs/keeper.json'), 'utf8')) as { $schema: string };
    expect(existsSync(join(game, 'graphs', $schema))).toBe(true);
  });

  it('writes into an empty folder, and into no other', async () => {
    expect(await runCommand(['new', '.'], '', {}, folder)).toMatchObject({ code: 0 });
    const again = await runCommand(['new', '.'], '', {}, folder);
    expect(again).toMatchObject({ code: 2, err: 'error: . is not empty; name a new folder\n' });
    await writeFile(join(folder, 'file'), '');
    const file = await runCommand(['new', 'file'], '', {}, folder);
    expect(file).toMatchObject({ code: 2, err: 'error: file is a file; name a new folder\n' });
    const below = await runCommand(['new', 'file/game'], '', {}, folder);
    expect(below).toMatchObject({ code: 2, err: 'error: file/game is a file; name a new folder\n' });
  });

  it('says why the folder cannot be written', async () => {
    const { err, code } = await runCommand(['new', '/proc/game'], '', {}, folder);
    expect(err).toMatch(/^error: \/proc\/game cannot be written: .+\n$/);
    expect(code).toBe(1);
  });
});
