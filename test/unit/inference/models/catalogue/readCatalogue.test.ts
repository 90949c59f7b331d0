import { copyFile, mkdir, mkdtemp, rm, symlink, writeFile } from 'node:fs/promises';
import { homedir, tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { unknownModel, readCatalogue } from '../../../../../src/inference/models/catalogue/catalogue.ts';
import { repositoryPath } from '../../../../helpers/server.ts';

const variant = { engine: 'llama-cpp', local_path: 'gguf', files: ['x.gguf'] };
const entry = (name: string, more: object = {}): object => ({ name, variants: [variant], ...more });

let folder = '';
let count = 0;
/** Writes a models.json in a folder of its own. */
async function write(document: object): Promise<string> {
  const own = join(folder, String(count++));
  await mkdir(own);
  const path = join(own, 'models.json');
  await writeFile(path, JSON.stringify(document, undefined, 1));
  return path;
}
let bundled = '';
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'turngraph-'));
  bundled = await write({ models: [entry('demo', { description: 'bundled' }), entry('small')] });
});
afterAll(() => rm(folder, { recursive: true }));

describe('a catalogue of one’s own', () => {
  it('has its own models first, then the bundled ones', async () => {
    const { models, problems } = await readCatalogue(await write({ models: [entry('mine')] }), bundled);
    expect([...models.keys()]).toEqual(['mine', 'demo', 'small']);
    expect(problems).toEqual([]);
  });

  it('finds files in the home folder', async () => {
    const lora = [{ file: '~/loras/ann.gguf' }];
    const variants = [{ ...variant, local_path: '~/gguf', lora }];
    const { models } = await readCatalogue(await write({ models: [entry('mine', { variants })] }), bundled);
    expect(models.get('mine')).toMatchObject({
      file: join(homedir(), 'gguf', 'x.gguf'),
      loraFiles: [join(homedir(), 'loras', 'ann.gguf')],
    });
  });

  it('stands alone with "extends": false', async () => {
    const { models } = await readCatalogue(await write({ extends: false, models: [entry('mine')] }), bundled);
    expect([...models.keys()]).toEqual(['mine']);
  });

  it('replaces a bundled model of the same name', async () => {
    const { models } = await readCatalogue(
      await write({ models: [entry('demo', { description: 'my own' })] }),
      bundled,
    );
    expect([...models.values()].map(({ name, description }) => [name, description])).toEqual([
      ['demo', 'my own'],
      ['small', ''],
    ]);
  });

  it('hides a bundled model with an invalid entry of its name, and says so', async () => {
    const path = await write({ models: [entry('demo', { descripton: 'my own' })] });
    const catalogue = await readCatalogue(path, bundled);
    expect([...catalogue.models.keys()]).toEqual(['small']);
    expect(unknownModel('demo', catalogue)).toBe(
      `the catalogue has an entry "demo", but it cannot be used: ${path}:14:4: /models/0/descripton is not known here; did you mean "description"?`,
    );
  });

  it('leaves the files of bundled models where they are', async () => {
    const { models } = await readCatalogue(await write({ models: [entry('mine')] }), bundled);
    const gguf = join(folder, '0', 'gguf');
    expect(models.get('demo')).toMatchObject({ file: join(gguf, 'x.gguf'), variants: [{ local_path: gguf }] });
    expect(models.get('mine')).toMatchObject({ variants: [{ local_path: 'gguf' }] });
  });

  it('is the bundled one itself, also by a link: nothing is added', async () => {
    const link = join(folder, 'link.json');
    await symlink(bundled, link);
    for (const path of [bundled, link]) {
      const { models } = await readCatalogue(path, bundled);
      expect(models.get('demo')?.variants[0]?.local_path).toBe('gguf');
    }
  });

  it('serves alone where the package comes without the bundled one', async () => {
    const { models } = await readCatalogue(await write({ models: [entry('mine')] }), join(folder, 'none.json'));
    expect([...models.keys()]).toEqual(['mine']);
  });

  it('has the demo model, with its file, without any entry', async () => {
    const { models } = await readCatalogue(await write({ models: [] }));
    expect(models.get('turngraph-demo')?.file).toBe(repositoryPath('models/turngraph-demo.gguf'));
  });

  it('refuses another value of "extends"', async () => {
    const path = await write({ extends: 'models.json', models: [] });
    await expect(readCatalogue(path, bundled)).rejects.toThrow(
      `${path}:2:2: /extends must be a boolean, not "models.json"`,
    );
  });
});

describe('the message for an unknown model', () => {
  const messageFor = async (name: string, ...models: readonly object[]): Promise<string> => {
    const path = await write({ extends: false, models });
    return unknownModel(name, await readCatalogue(path)).replaceAll(path, 'models.json');
  };

  it('has all problems of an entry', async () => {
    expect(await messageFor('mine', entry('mine', { a: 1, b: 2 }))).toBe(
      'the catalogue has an entry "mine", but it cannot be used: ' +
        'models.json:15:4: /models/0/a is not known here; models.json:16:4: /models/0/b is not known here',
    );
  });

  it('guesses the name of an invalid entry', async () => {
    expect(await messageFor('mien', entry('mine', { a: 1 }))).toBe(
      'the catalogue has no model "mien"; did you mean "mine"?',
    );
  });

  it('names the problem of an entry whose name is misspelt', async () => {
    expect(await messageFor('mine', { nam: 'mine', variants: [variant] })).toMatch(
      /^the catalogue has no model "mine"; an entry without a name is left out: models\.json:\d+:\d+: \/models\/0\/\w+ is/,
    );
  });

  it('does not speak of an invalid entry whose name a valid one has, too', async () => {
    const path = await write({ extends: false, models: [entry('mine', { a: 1 }), entry('mine')] });
    const { models, rejected } = await readCatalogue(path);
    expect([[...models.keys()], rejected.size]).toEqual([['mine'], 0]);
  });

  it('copies are catalogues of their own', async () => {
    const copy = join(folder, 'copy.json');
    await copyFile(bundled, copy);
    const { models } = await readCatalogue(copy, bundled);
    expect(models.get('demo')?.file).toBe(join(folder, 'gguf', 'x.gguf'));
  });
});
