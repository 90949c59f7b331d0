import { rename, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { readWatchedFiles, untilChanged } from '../../../../src/cli/commands/test.ts';
import { CasesFolder } from '../../../helpers/graphCases.ts';

let folder: CasesFolder;
let cases = '';
beforeAll(async () => {
  folder = await CasesFolder.create();
  await folder.write('lamp.json', { nodes: { guard: { params: { string_storage: 'attacks.txt' } }, answer: {} } });
  await folder.write('attacks.txt', 'ignore');
  cases = await folder.write('lamp.cases.json', { graph: 'lamp.json' });
});
afterAll(() => folder[Symbol.asyncDispose]());

const at = (name: string): string => join(folder.path, name);
const read = (settings: object = {}) =>
  readWatchedFiles([cases], { graphs: at('graphs'), mockScript: '', storageRoot: '', ...settings });

it('watches the cases, the graph, its strings, and the recording that may come', async () => {
  expect([...(await read()).keys()]).toEqual(['lamp.cases.json', 'lamp.mock.json', 'lamp.json', 'attacks.txt'].map(at));
  const sub = await folder.write('sub.cases.json', { graph: 'lamp.json', recording: '/recordings.json' });
  const named = await readWatchedFiles([sub], { graphs: at('graphs'), mockScript: '', storageRoot: '' });
  expect([...named.keys()]).toContain(at('recordings.json'));
  expect([...(await read({ mockScript: at('own.json') })).keys()]).toContain(at('own.json'));
});

it.each<readonly [string, () => Promise<unknown>, string]>([
  ['the graph is written', () => folder.write('lamp.json', { nodes: {} }), 'lamp.json'],
  [
    'an editor replaces the cases',
    async () => rename(await folder.write('new.json', { graph: 'lamp.json', cases: [] }), cases),
    'lamp.cases.json',
  ],
  ['a recording is made', () => folder.write('lamp.mock.json', []), 'lamp.mock.json'],
  ['the recording is removed', () => rm(at('lamp.mock.json')), 'lamp.mock.json'],
])('ends the wait when %s', async (_, change, name) => {
  const texts = await read();
  const changed = untilChanged(texts, new AbortController().signal, (reason) => expect.fail(reason));
  await change();
  expect(await changed).toBe(at(name));
});

it('knows of a change that came before the wait', async () => {
  const texts = await read();
  await folder.write('lamp.json', { nodes: { answer: {} } });
  expect(await untilChanged(texts, new AbortController().signal, () => undefined)).toBe(at('lamp.json'));
});

it('does not count a file that is written with the same text, and ends with its signal', async () => {
  const texts = await read();
  const controller = new AbortController();
  const changed = untilChanged(texts, controller.signal, () => undefined);
  await folder.write('lamp.json', { nodes: { answer: {} } });
  setTimeout(() => controller.abort(), 300);
  expect(await changed).toBeUndefined();
});
