import { copyFile, mkdtemp, rename, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pino } from 'pino';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import type { ModelInfo } from '../../src/protocol/frames.gen.ts';
import type { TurngraphServer } from '../../src/server/socket/server.ts';
import { retryDelayMs } from '../../src/inference/models/catalogue/fileWatcher.ts';
import { failFiles } from '../helpers/failingFiles.ts';
import { shortenTimers } from '../helpers/shortTimers.ts';
import { repositoryPath, startTestServer, subprotocols, TestClient } from '../helpers/server.ts';

interface LogLine {
  readonly msg: string;
  readonly problem?: string;
}

let folder = '';
let log: LogLine[] = [];
let server: TurngraphServer;
const entry = (name: string, more: object = {}): object => ({
  name,
  tool_call_format: 'chatml',
  variants: [{ engine: 'llama-cpp', local_path: '.', files: ['demo.gguf'] }],
  ...more,
});

/** Writes models.json as editors do: another file is renamed to it. */
async function edit(text: string): Promise<void> {
  await writeFile(join(folder, 'draft'), text);
  await rename(join(folder, 'draft'), join(folder, 'models.json'));
}
const editModels = (...models: readonly object[]): Promise<void> => edit(JSON.stringify({ extends: false, models }));

async function startServer(watchModels: 'on' | 'off' = 'on'): Promise<void> {
  await editModels(entry('first'));
  const sink = { write: (line: string) => void log.push(JSON.parse(line) as LogLine) };
  const catalogue = join(folder, 'models.json');
  server = await startTestServer({ catalogue, watchModels, modelIdle: 0, log: pino({ level: 'info' }, sink) });
}

beforeEach(async () => {
  log = [];
  folder = await mkdtemp(join(tmpdir(), 'turngraph-'));
  await copyFile(repositoryPath('models/turngraph-demo.gguf'), join(folder, 'demo.gguf'));
});
afterEach(async () => {
  await server[Symbol.asyncDispose]();
  await rm(folder, { recursive: true });
});

const waitFor = (check: () => unknown): Promise<unknown> => vi.waitFor(check, { timeout: 60_000, interval: 20 });
const untilLogged = (message: string): Promise<unknown> =>
  waitFor(() => expect(log.map(({ msg }) => msg)).toContain(message));

describe.each(subprotocols)('models.json that is edited while the server runs, over %s', (subprotocol) => {
  const connect = (): Promise<TestClient> => TestClient.connect(server.url, subprotocol, 'llama-cpp');
  const graphJson = JSON.stringify({
    start_node: 'say',
    nodes: { say: { type: 'Generate', params: { sampling: { max_tokens: 4 } } } },
  });
  const createAgent = (client: TestClient, defaultModelName: string) =>
    client.request('createAgent', { graphJson, defaultModelName });
  const readModels = async (client: TestClient): Promise<readonly ModelInfo[]> => {
    const frame = await client.request('listModels');
    return frame.body === 'listModels' ? frame.listModels.models : [];
  };
  const listModels = async (client: TestClient): Promise<readonly string[]> =>
    (await readModels(client)).map(({ name }) => name);
  const createdId = async (client: TestClient): Promise<number> => {
    const frame = await createAgent(client, 'first');
    return frame.body === 'createAgent' ? frame.createAgent.agentId : 0;
  };

  it('serves a new entry', async () => {
    await startServer();
    await using client = await connect();
    expect(await createAgent(client, 'second')).toMatchObject({ error: { code: 6007 } });
    await editModels(entry('first'), entry('second'));
    await untilLogged('the catalogue has changed');
    expect(await createAgent(client, 'second')).toHaveProperty('createAgent');
    expect(await listModels(client)).toEqual(['first', 'second']);
    expect(log.find(({ msg }) => msg === 'the catalogue has changed')).toMatchObject({
      added: ['second'],
      removed: [],
    });
  });

  it('keeps the last valid entries when the file is no JSON, and logs where', async () => {
    await startServer();
    await using client = await connect();
    await edit('{\n  "models": [\n    {]\n}');
    await untilLogged('the catalogue cannot be read: its last valid entries stay');
    expect(log.at(-1)?.problem).toMatch(/models\.json:3:6: the catalogue is /);
    expect(await createAgent(client, 'first')).toHaveProperty('createAgent');
    await rm(join(folder, 'models.json'));
    await waitFor(() => expect(log.at(-1)?.problem).toContain('there is no such file'));
    expect(await createAgent(client, 'first')).toHaveProperty('createAgent');
    await editModels(entry('second'));
    await untilLogged('the catalogue has changed');
    expect(await createAgent(client, 'second')).toHaveProperty('createAgent');
  });

  it('is read later when no file handle is free at the moment of the change', async () => {
    shortenTimers(retryDelayMs);
    await startServer();
    await using client = await connect();
    {
      using _ = failFiles('EMFILE', (path) => path === join(folder, 'models.json'));
      await editModels(entry('first'), entry('second'));
      await untilLogged('the catalogue cannot be read: its last valid entries stay');
      expect(await createAgent(client, 'first')).toHaveProperty('createAgent');
    }
    await untilLogged('the catalogue has changed');
    expect(await listModels(client)).toEqual(['first', 'second']);
  });

  it('keeps the last valid entry of one that has become invalid, and logs where', async () => {
    await startServer();
    await using client = await connect();
    await editModels(entry('first', { descripton: '' }), entry('second'));
    await untilLogged('the catalogue has changed');
    expect(log.find(({ msg }) => msg.includes('cannot be used'))?.problem).toMatch(
      /models\.json:1:\d+: \/models\/0\/descripton is not known here; did you mean "description"\?$/,
    );
    for (const name of ['first', 'second']) expect(await createAgent(client, name)).toHaveProperty('createAgent');
  });

  it('no longer serves a removed entry, but agents that use it go on', async () => {
    await startServer();
    await using client = await connect();
    const agentId = await createdId(client);
    await client.request('loadModel', { modelName: 'first' });
    await editModels();
    await untilLogged('the catalogue has changed');
    expect(await listModels(client)).toEqual([]);
    expect(await createAgent(client, 'first')).toHaveProperty('error');
    expect(await client.request('sendMessage', { agentId, text: 'hello' })).toMatchObject({
      turnComplete: { status: 'SUCCESS' },
    });
    expect(await client.request('unloadModel', { modelName: 'first' })).toHaveProperty('ack');
    await client.request('destroyAgent', { agentId });
    await waitFor(async () =>
      expect(await client.request('unloadModel', { modelName: 'first' })).toMatchObject({ error: { code: 6007 } }),
    );
  });

  it('applies a changed entry to the next load', async () => {
    await startServer();
    await using client = await connect();
    const contextSize = async (): Promise<number | undefined> => (await readModels(client))[0]?.contextSize;
    const agentId = await createdId(client);
    expect(await contextSize()).toBe(2048);
    const variants = [{ engine: 'llama-cpp', local_path: '.', files: ['demo.gguf'], context_size: 512 }];
    await editModels(entry('first', { variants }));
    await untilLogged('the catalogue has changed');
    await createAgent(client, 'first');
    expect(await contextSize()).toBe(2048);
    for (const id of [agentId, agentId + 1]) await client.request('destroyAgent', { agentId: id });
    await waitFor(async () => expect(await contextSize()).toBe(512));
    expect(await createAgent(client, 'first')).toHaveProperty('createAgent');
    expect(await contextSize()).toBe(512);
  });

  it('changes nothing with --watch-models off', async () => {
    await startServer('off');
    await using client = await connect();
    await editModels(entry('second'));
    // A server that watches the same file shows when the change could have been seen.
    const own = log;
    log = [];
    const unwatched = server;
    await editModels(entry('first'));
    await startServer();
    await editModels(entry('second'));
    await untilLogged('the catalogue has changed');
    await server[Symbol.asyncDispose]();
    server = unwatched;
    expect(await listModels(client)).toEqual(['first']);
    expect(own.map(({ msg }) => msg)).not.toContain('the catalogue has changed');
  });
});
