import { mkdtemp, readdir, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { longText } from '../contracts/generation.ts';
import { runCli } from './command.ts';

let folder = '';
const env = () => ({ TURNGRAPH_CACHE: join(folder, 'cache'), TURNGRAPH_ENGINE_PROCESS: 'in' });
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'turngraph-'));
  const answer = { type: 'Generate', params: { system_prompt: longText(20), sampling: { max_tokens: 4 } } };
  const graph = { default_model_name: 'turngraph-demo', start_node: 'answer', nodes: { answer } };
  await writeFile(join(folder, 'tavern.json'), JSON.stringify(graph));
  await writeFile(join(folder, 'broken.json'), '{"start_node": "none", "nodes": {}}');
});
afterAll(() => rm(folder, { recursive: true }));

describe('turngraph warm', () => {
  it('evaluates graphs once, and later servers start from that', async () => {
    const tavern = join(folder, 'tavern.json');
    const run = async (): Promise<number> => {
      const { out } = await runCli(['run', tavern, 'Hello!'], '', env());
      return Number(/"tokensReused":(\d+)/.exec(out)?.[1] ?? 0);
    };
    expect(await run()).toBe(0);
    const broken = join(folder, 'broken.json');
    const warmed = await runCli(['warm', broken, tavern], '', env());
    const prompts = join(folder, 'cache', 'prompts');
    expect(warmed.code).toBe(1);
    expect(warmed.err).toContain(`${broken}: `);
    expect(warmed.out).toMatch(/tavern\.json: ok\n.*: 1 prompt, \d+\.\d MB\n$/);
    expect(await readdir(prompts)).toHaveLength(2);
    expect(await run()).toBeGreaterThan(100);
  });

  it('needs graphs that are there', async () => {
    const { code, err } = await runCli(['warm', join(folder, 'nowhere.json')], '', env());
    expect(code).toBe(1);
    expect(err).toContain('nowhere.json cannot be read');
  });
});
