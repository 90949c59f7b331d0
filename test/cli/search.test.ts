import { mkdtemp, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { bertGguf } from '../../scripts/gguf/bert.mjs';
import { pngWithText } from '../helpers/pngWithText.ts';
import { useCommandHost } from './command.ts';

const runCommand = useCommandHost();
let folder = '';
const pathOf = (name: string): string => join(folder, name);

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'turngraph-search-'));
  const smith = { id: 'smith', text: 'The smith\n\u001b[2Jlives here.', metadata: { level: 2, tags: ['a', 'b'] } };
  const fields = [
    { name: 'level', type: 'int' },
    { name: 'tags', type: 'set<string>' },
  ];
  const town = { id: 'town', text: 'A walled town.', always: true };
  await writeFile(pathOf('lore.kb.json'), JSON.stringify({ fields, records: [smith, town] }));
  await writeFile(pathOf('broken.kb.json'), '{\n  "records": [\n    { "id": "a", "text": 7 }\n  ]\n}');
  await writeFile(pathOf('lines.txt'), 'Not today.\nThe ferry has left.\n');
  await writeFile(pathOf('lines.png'), 'Not today.');
  await symlink(pathOf('lines.txt'), pathOf('link.txt'));
});
afterAll(() => rm(folder, { recursive: true }));

describe('turngraph search', () => {
  it('shows what a query finds, with scores and metadata, each on a line without control characters', async () => {
    const { out, code } = await runCommand(['search', pathOf('lore.kb.json'), 'where are the smiths?']);
    expect(out).toMatch(
      /^\d\.\d{3} {2}smith {2}\(level: 2; tags: a,b\)\n {7}The smith \[2Jlives here\.\n0\.000 {2}town\n {7}A walled town\.\n$/,
    );
    expect(code).toBe(0);
  });

  it('says when nothing is found but what every search brings', async () => {
    const { out, code } = await runCommand(['search', pathOf('lore.kb.json'), 'football']);
    expect([out, code]).toEqual(['nothing found\n0.000  town\n       A walled town.\n', 0]);
  });

  it('prints JSON, filtered and limited', async () => {
    const args = ['search', pathOf('lore.kb.json'), 'smith', '--json', '--top-k', '1'];
    const { out } = await runCommand([...args, '--filter', '{"level": {"$gte": 2}}']);
    expect(JSON.parse(out)).toMatchObject({ found: true, hits: [{ id: 'smith', metadata: { level: 2 } }] });
    const { out: none } = await runCommand([...args, '--filter', '{"level": {"$gt": 2}}']);
    expect(JSON.parse(none)).toEqual({ found: false, hits: [] });
  });

  it('searches the lines of a list, by a symbolic link too', async () => {
    expect((await runCommand(['search', pathOf('link.txt'), 'ferries'])).out).toMatch(
      / {2}1\n {7}The ferry has left\.\n/,
    );
  });

  it('searches the book of a character card in a PNG image, of which check names what is not used', async () => {
    const entries = [
      { keys: ['harbour'], content: 'It freezes in January.', enabled: true, insertion_order: 10, position: 'in_chat' },
    ];
    const card = { spec: 'chara_card_v2', data: { name: 'Mira', character_book: { entries } } };
    const text = Buffer.from(JSON.stringify(card)).toString('base64');
    await writeFile(pathOf('card.png'), pngWithText(['chara', text]));
    const { out } = await runCommand(['search', pathOf('card.png'), 'Where is the harbour?']);
    expect(out).toBe('0.000  0\n       It freezes in January.\n');
    expect(await runCommand(['check', pathOf('card.png')])).toMatchObject({
      out: `${pathOf('card.png')}: ok\n`,
      err: expect.stringMatching(
        /card\.png: warning: card\.png, 1:\d+: data\.character_book\.entries\[0\]\.position is not used \(1 entry\)\n$/,
      ) as string,
      code: 0,
    });
  });

  it('searches by vectors with an embedding model of the catalogue', async () => {
    const variant = { engine: 'llama-cpp', local_path: '.', files: ['bert.gguf'] };
    await writeFile(pathOf('bert.gguf'), bertGguf());
    const models = [{ name: 'vectors', purpose: 'embedding', variants: [variant] }];
    await writeFile(pathOf('models.json'), JSON.stringify({ models }));
    const settings = ['--catalogue', pathOf('models.json'), '--cache', pathOf('cache'), '--gpu', 'off'];
    const command = ['search', pathOf('lines.txt'), 'The ferry has left.', '--match', 'vectors', '--top-k', '1'];
    const { out } = await runCommand([...command, '--embedding-model', 'vectors', ...settings]);
    expect(out).toBe('1.000  1\n       The ferry has left.\n');
    const { err, code } = await runCommand([...command, ...settings]);
    expect(err).toContain('needs an embedding model, and there is none');
    expect(code).not.toBe(0);
  });

  it.each([
    [['lines.png', 'x'], /lines\.png is no PNG image; name a JSON file \.kb\.json/],
    [['none.kb.json', 'x'], /none\.kb\.json cannot be read: there is no such file/],
    [
      ['broken.kb.json', 'x'],
      /INVALID_STRING_STORAGE_DATA \(7003\): broken\.kb\.json, 3:18: records\[0\]\.text must be/,
    ],
    [['lore.kb.json', 'x', '--match', 'vector'], /--match must be one of words, vectors, both.*did you mean "vectors"/],
    [['lore.kb.json', 'x', '--filter', '{"lvel": 1}'], /--filter\.lvel is not among the fields.*did you mean "level"/],
    [['lore.kb.json', 'x', '--top-k', 'many'], /--top-k must be an integer from 1, not "many"/],
    [['lore.kb.json', 'x', '--top-k', '1001'], /--top-k must be an integer of 1 to 1000/],
  ])('refuses %j', async ([name = '', ...args], message) => {
    const { err, code } = await runCommand(['search', pathOf(name), ...args]);
    expect(err).toMatch(message);
    expect(code).not.toBe(0);
  });
});
