import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { defineNode, startServer } from '../../src/index.ts';
import { repositoryPath } from '../helpers/server.ts';
import { useCommandHost } from './command.ts';

const runCommand = useCommandHost();

describe('a node type and a format of an extension', () => {
  let folder = '';
  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'turngraph-'));
    const library = repositoryPath('dist/index.js');
    await writeFile(
      join(folder, 'extension.mjs'),
      `import { defineNode } from ${JSON.stringify(library)};
       export const nodeTypes = [defineNode({
         type: 'Silence', summary: 'Sends nothing.', params: { type: 'object', additionalProperties: false, properties: {} }, exits: ['default'],
         create: async () => ({ run: async () => 'default' }),
       })];`,
    );
    await writeFile(
      join(folder, 'graph.json'),
      JSON.stringify({ start_node: 'hush', nodes: { hush: { type: 'Silence' } } }),
    );
  });
  afterAll(() => rm(folder, { recursive: true }));

  it('are known to commands with --extend', async () => {
    const [module, path] = [join(folder, 'extension.mjs'), join(folder, 'graph.json')];
    expect(await runCommand(['check', '--extend', module, '--', path])).toMatchObject({
      code: 0,
      out: `${path}: ok\n`,
    });
    expect(await runCommand(['check', path])).toMatchObject({
      code: 1,
      err: expect.stringContaining('is no node type: "Silence"') as unknown,
    });
    const { out } = await runCommand(['run', path, 'hello', '--engine', 'mock', '--extend', module]);
    expect(out).toContain('"path":[{"nodeName":"hush","exit":"default"}]');
  });

  it.each([
    ['a module that does not exist', 'nowhere.mjs', 'the extension nowhere.mjs cannot be loaded'],
    [
      'a module that exports neither nodeTypes nor formats',
      repositoryPath('dist/base/packageFiles.js'),
      'exports neither nodeTypes nor formats',
    ],
  ])('cannot be loaded from %s', async (_, module, message) => {
    expect(await runCommand(['check', 'graphs/chat.json', '--extend', module])).toMatchObject({
      code: 1,
      err: expect.stringContaining(message) as unknown,
    });
  });

  it('leave no engine process when the server cannot start with them', async () => {
    const children = () => process.getActiveResourcesInfo().filter((kind) => kind === 'ProcessWrap').length;
    const before = children();
    const dice = defineNode({
      type: 'Dice',
      summary: 'Rolls a die.',
      params: { type: 'object', properties: {} },
      exits: ['won'],
      create: async () => ({ run: async () => 'won' as const }),
    });
    const nodeTypes = [dice, dice];
    await expect(startServer({ port: 0, engineProcess: 'child', mockScript: '', nodeTypes })).rejects.toThrow('Dice');
    expect(children()).toBeLessThanOrEqual(before);
  });
});
