import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import {
  scriptedTemplate,
  sendError,
  startScriptedServer,
  type ScriptedServer,
} from '../helpers/inference/scriptedServer.ts';
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
    { name: 'openai', variants: [{ ...served, api: 'openai', base_url: server.url, chat_template: 'template.jinja' }] },
    { name: 'gone', variants: [{ ...served, base_url: gone }] },
  ];
  await writeFile(join(folder, 'template.jinja'), scriptedTemplate);
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

  it('says what a server with the API openai cannot do', async () => {
    server.script = (path, _, response) =>
      ['probe', '/tokenize'].includes(path) && sendError(response, 404, 'Not Found');
    const { out } = await runCommand(['doctor', 'openai', '--catalogue', join(folder, 'models.json')]);
    server.script = () => false;
    expect(out).toContain(`${server.url} answers: scripted, 128 slots of 512 tokens, version unknown`);
    expect(out).toContain(`${server.url} has no /tokenize: tokens are estimated, rather too many`);
    expect(out).toContain(`${server.url} follows no grammar in GBNF`);
    expect(out).toContain(`${server.url} cannot score answers`);
  });

  it('fails when none of them can be used', async () => {
    const flags = ['--json', '--catalogue', join(folder, 'models.json')];
    const { code, out, err } = await runCommand(['doctor', 'gone', ...flags]);
    expect(JSON.parse(out)).toMatchObject({ name: 'gone', endpoints: [{ url: gone }] });
    expect(err).toContain('no inference server of "gone" can be used');
    expect(code).toBe(1);
  });
});
