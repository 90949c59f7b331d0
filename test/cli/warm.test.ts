import { mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { bertGguf } from '../../scripts/gguf/bert.mjs';
import { longText } from '../contracts/generation.ts';
import { connect } from '../../src/client/index.ts';
import { readFirstLine, startCli, untilExit, useCommandHost } from './command.ts';

const runCommand = useCommandHost();

let folder = '';
const env = () => ({ TURNGRAPH_CACHE: join(folder, 'cache'), TURNGRAPH_ENGINE_PROCESS: 'in' });
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'turngraph-'));
  for (const [name, system_prompt] of Object.entries({ tavern: longText(20), short: 'Be brief.' })) {
    const answer = { type: 'Generate', params: { system_prompt, sampling: { max_tokens: 4 } } };
    const graph = { default_model_name: 'turngraph-demo', start_node: 'answer', nodes: { answer } };
    await writeFile(join(folder, `${name}.json`), JSON.stringify(graph));
  }
  await writeFile(join(folder, 'broken.json'), '{"start_node": "none", "nodes": {}}');
});
afterAll(() => rm(folder, { recursive: true }));

describe('turngraph warm', () => {
  it('evaluates graphs once, and later servers start from that', async () => {
    const tavern = join(folder, 'tavern.json');
    const reusedByServer = async (): Promise<number> => {
      const child = startCli(['serve', '--port', '0', '--json', '--log-level', 'error'], env());
      const end = untilExit(child);
      const { port } = JSON.parse(await readFirstLine(child)) as { readonly port: number };
      try {
        await using client = await connect(`ws://127.0.0.1:${port}`);
        const agent = await client.createAgent({ graph: await readFile(tavern, 'utf8') });
        return (await agent.send('Hello!')).tokens.reused;
      } finally {
        child.kill('SIGTERM');
        await end;
      }
    };
    const reusedByRun = async (cache: string): Promise<number> => {
      const { out } = await runCommand(['run', tavern, 'Hello!', '--cache', cache], '', {
        TURNGRAPH_ENGINE_PROCESS: 'in',
      });
      return Number(/"tokensReused":\s?(\d+)/.exec(out)?.[1]);
    };
    expect(await reusedByRun(join(folder, 'empty'))).toBe(0);
    const [broken, short] = [join(folder, 'broken.json'), join(folder, 'short.json')];
    const missing = join(folder, 'nowhere.json');
    const warmed = await runCommand(['warm', missing, broken, tavern], '', env());
    const prompts = join(folder, 'cache', 'prompts');
    expect(warmed.code).toBe(1);
    expect(warmed.err).toContain(`${broken}: `);
    expect(warmed.err).toMatch(/^\S+nowhere\.json cannot be read: /m);
    expect(warmed.out).toMatch(/tavern\.json: ok\n {2}answer: \d+ tokens, saved\n.*: 1 prompt, \d+\.\d MB\n$/);
    expect(await readdir(prompts)).toHaveLength(2);
    expect(await reusedByServer()).toBeGreaterThan(100);
    // With one slot instead of four.
    expect(await reusedByRun(env().TURNGRAPH_CACHE)).toBeGreaterThan(100);
    const again = await runCommand(['warm', tavern, short, '--json'], '', env());
    expect(JSON.parse(again.out)).toMatchObject({
      graphs: [
        { graph: tavern, error: '', nodes: [{ node: 'answer', kept: 'present' }] },
        { graph: short, error: '', nodes: [{ node: 'answer', kept: 'few_tokens' }] },
      ],
      folder: prompts,
      prompts: 1,
    });
    expect(again.code).toBe(0);
  });

  it('computes the vectors of storages once, of files in the folder of the graph', async () => {
    const variant = { engine: 'llama-cpp', local_path: '.', files: ['bert.gguf'] };
    const files = {
      'bert.gguf': bertGguf(),
      'models.json': JSON.stringify({ models: [{ name: 'search', purpose: 'embedding', variants: [variant] }] }),
      'lore.txt': 'the dragon\nthe moon\n',
      'lore.json': JSON.stringify({
        start_node: 'find',
        nodes: {
          find: {
            type: 'Retrieve',
            params: { string_storage: 'lore.txt', match: 'vectors', embedding_model: 'search' },
          },
        },
      }),
    };
    for (const [name, content] of Object.entries(files)) await writeFile(join(folder, name), content);
    const command = ['warm', join(folder, 'lore.json'), '--catalogue', join(folder, 'models.json')];
    const warmed = await runCommand(command, '', env());
    expect(warmed.code).toBe(0);
    expect(warmed.out).toContain('lore.json: ok\n  find: 2 vectors, saved\n');
    const again = await runCommand([...command, '--json'], '', env());
    expect(JSON.parse(again.out)).toMatchObject({
      graphs: [{ vectors: [{ name: 'find', model: 'search', texts: 2, isRestored: true }] }],
    });
  });
});
