import { mkdir, mkdtemp, readdir, rm, truncate, watch, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { isSkipped } from '../helpers/requirements.mjs';
import { writeNodeBinary } from '../helpers/nodeBinaries.ts';
import { startCli, untilExit, useCommandHost } from './command.ts';

const runCommand = useCommandHost();
let folder = '';
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'turngraph-'));
  await mkdir(join(folder, 'full'));
  await writeFile(join(folder, 'full', 'mine.txt'), 'mine');
  await writeFile(join(folder, 'faulty.json'), '{"start_node": "a", "nodes": {}}');
  const params = { model_name: 'Qwen2.5 0.5B Instruct (Q4_K_M)' };
  const graph = { start_node: 'a', nodes: { a: { type: 'Generate', params } } };
  await writeFile(join(folder, 'qwen.json'), JSON.stringify(graph));
  await writeNodeBinary(join(folder, 'node'), 'linux-x64', '31.0.0');
});
afterAll(() => rm(folder, { recursive: true }));

const env = { TURNGRAPH_MODELS: '', HF_HOME: '' };
const bundle = (flags: readonly string[]) => {
  const own = { ...env, TURNGRAPH_MODELS: join(folder, 'models'), HF_HOME: join(folder, 'hub') };
  const args = flags.map((flag) => flag.replace(/^@/, `${folder}/`));
  return runCommand(['bundle', ...args], '', own);
};

describe('turngraph bundle', () => {
  it.each([
    ['no folder', [], 2, "missing required argument 'folder'"],
    ['a folder with files', ['@full'], 1, 'full is not empty: delete it, or name a folder that is not there yet'],
    [
      'an unknown system',
      ['@new', '--platform', 'amiga'],
      2,
      "argument 'amiga' is invalid. Allowed choices are linux-x64",
    ],
    ['an unknown backend', ['@new', '--gpu', 'auto'], 2, "argument 'auto' is invalid. Allowed choices are off, vulkan"],
    [
      'another system without its Node',
      ['@new', '--platform', 'mac-x64'],
      2,
      '--platform mac-x64 needs --node, the Node program of that system: nodejs.org/dist has',
    ],
    ['a Node for another system', ['@new', '--platform', 'win-x64', '--node', '@node'], 1, 'is Node for linux-x64'],
    [
      'a Node whose licence is not known',
      ['@new', '--node', '@node'],
      1,
      'the licence text of Node 31.0.0 is not known',
    ],
    [
      'a backend that the system has not',
      ['@new', '--gpu', 'metal', '--node', '@node'],
      1,
      'no llama.cpp library for metal',
    ],
    ['a graph that is not there', ['@new', '--graph', 'lamp-swich'], 1, 'did you mean "lamp-switch"?'],
    ['a graph with a fault', ['@new', '--graph', '@faulty.json'], 1, 'faulty.json:1:2: start_node leads to no node'],
    ['a model that is not in the catalogue', ['@new', '--model', 'turngraf-demo'], 1, 'did you mean "turngraph-demo"?'],
    [
      'a graph whose model is not downloaded',
      ['@new', '--graph', '@qwen.json'],
      1,
      'turngraph models download "Qwen2.5 0.5B',
    ],
    ['an entry that cannot be downloaded', ['@new', '--entry', 'turngraph-demo'], 1, 'has no huggingface_repo'],
  ])('refuses %s, and writes nothing', async (_, flags, code, message) => {
    const before = await readdir(folder, { recursive: true });
    const result = await bundle(flags);
    expect(result).toMatchObject({ code, out: '' });
    expect(result.err).toContain(message);
    expect(await readdir(folder, { recursive: true })).toEqual(before);
  });

  it.skipIf(isSkipped('interruptedBundle'))('leaves nothing after Ctrl-C', async () => {
    const place = join(folder, 'interrupted');
    const node = await writeNodeBinary(join(folder, 'large'), 'linux-x64', '20.1.0');
    // So large that it is still being copied; the file system keeps no zeros.
    await truncate(node, 2 ** 32);
    await mkdir(place);
    const child = startCli(['bundle', join(place, 'new'), '--node', node, '--graph', 'lamp-switch']);
    const exit = untilExit(child);
    for await (const { filename } of watch(place)) if (filename?.startsWith('new.new-')) break;
    child.kill('SIGINT');
    expect(await exit).toEqual({ code: 130, out: '', err: `stopped; nothing is left of ${join(place, 'new')}\n` });
    expect(await readdir(place)).toEqual([]);
  });
});
