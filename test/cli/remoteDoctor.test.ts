import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startScriptedServer, type ScriptedServer } from '../helpers/inference/scriptedServer.ts';
import { useCommandHost } from './command.ts';

const runCommand = useCommandHost();
let folder = '';
let server: ScriptedServer;
const gone = 'http://127.0.0.1:9';

beforeAll(async () => {
  server = await startScriptedServer();
  folder = await mkdtemp(join(tmpdir(), 'turngraph-'));
  const served = { engine: 'http', api: 'llama-server' };
  const models = [
    { name: 'remote', variants: [{ ...served, base_url: [server.url, gone] }] },
    { name: 'gone', variants: [{ ...served, base_url: gone }] },
  ];
  await writeFile(join(folder, 'models.json'), JSON.stringify({ models }));
});
afterAll(async () => {
  await server[Symbol.asyncDispose]();
  await rm(folder, { recursive: true });
});

describe('turngraph doctor on a model of inference servers', () => {
  it('says for each of them whether it answers, its model and its context', async () => {
    const { code, out } = await runCommand(['doctor', 'remote', '--catalogue', join(folder, 'models.json')]);
    expect(out).toContain(`${server.url} answers: scripted, 2 slots of 512 tokens, version b1`);
    expect(out).toMatch(new RegExp(`${gone} cannot be used: ${gone} cannot be reached`));
    expect(code).toBe(0);
  });

  it('fails when none of them can be used', async () => {
    const flags = ['--json', '--catalogue', join(folder, 'models.json')];
    const { code, out, err } = await runCommand(['doctor', 'gone', ...flags]);
    expect(JSON.parse(out)).toMatchObject({ name: 'gone', endpoints: [{ url: gone }] });
    expect(err).toContain('no inference server of "gone" can be used');
    expect(code).toBe(1);
  });
});
