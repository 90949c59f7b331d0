import { copyFile, mkdtemp, rm, truncate, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { mockEngine } from '../../src/inference/mock/engine.ts';
import { readMockScript } from '../../src/inference/mock/script.ts';
import type { LoadOptions } from '../../src/inference/contract/engine.ts';
import { Fault } from '../../src/protocol/fault.ts';
import type { ServerMachine } from '../../src/server/session/session.ts';
import { type GraphDocument, chat, lamp } from '../helpers/graphs.ts';
import { override } from '../helpers/heldEngine.ts';
import {
  errorOf,
  repositoryPath,
  startTestServer,
  subprotocols,
  TestClient,
  type TestServerOptions,
} from '../helpers/server.ts';

const megabyte = 1e6;
const machine: ServerMachine = {
  totalRam: 500 * megabyte,
  freeRam: 150 * megabyte,
  card: undefined,
  problem: undefined,
  cores: 2,
  bandwidth: undefined,
  slots: 1,
};
const local = (file: string) => [{ engine: 'llama-cpp', local_path: '.', files: [file], context_size: 256 }];
const models = [
  { name: 'absent', variants: local('absent.gguf') },
  {
    name: 'hub',
    variants: [
      { engine: 'llama-cpp', huggingface_repo: 'ann/x', files: ['x.gguf'], size_bytes: 1000, kv_bytes_per_token: 1 },
    ],
  },
  { name: 'damaged', variants: local('damaged.gguf') },
  { name: 'large', variants: local('large.gguf') },
  { name: 'fast', min_tokens_per_second: 1e9, variants: local('fast.gguf') },
  { name: 'small', variants: local('small.gguf') },
  { name: 'finder', purpose: 'embedding', variants: local('small.gguf') },
];
const words = 'one two three four five six seven eight nine ten '.repeat(4);
const script = readMockScript(JSON.stringify([{ answer: words, delay_ms: 2, chunk: 4 }]), 'the script');

let folder = '';
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'turngraph-'));
  await writeFile(join(folder, 'models.json'), JSON.stringify({ extends: false, models }));
  for (const name of ['damaged', 'large', 'fast', 'small'])
    await copyFile(repositoryPath('models/turngraph-demo.gguf'), join(folder, `${name}.gguf`));
  await truncate(join(folder, 'large.gguf'), 300 * megabyte);
});
afterAll(() => rm(folder, { recursive: true }));

const mock = mockEngine({ script });
const engine = override(mock, {
  needsFiles: true,
  async load(file: string, options: LoadOptions) {
    if (basename(file) === 'damaged.gguf') throw new Fault('MODEL_LOAD_FAILED', 'its weights are damaged');
    return mock.load(file, options);
  },
});

/** A server whose engine needs the files of its models, and answers without them; one of them cannot be loaded. */
const startServer = (cache: string, options: TestServerOptions = {}) =>
  startTestServer({
    catalogue: join(folder, 'models.json'),
    models: join(folder, 'downloads'),
    cache: join(folder, cache),
    engines: { 'llama-cpp': engine },
    readMachine: async () => machine,
    ...options,
  });

describe.each(subprotocols)('a list of models, over %s', (subprotocol) => {
  const connect = ({ url }: { readonly url: string }) => TestClient.connect(url, subprotocol, 'llama-cpp');
  const infoOf = async (client: TestClient, name: string) => {
    const answer = await client.request('listModels');
    if (answer.body !== 'listModels') throw new Error(JSON.stringify(answer));
    return answer.listModels.models.find((model) => model.name === name);
  };
  /** The model that the agent of a graph has after a turn. */
  async function choiceOf(client: TestClient, graph: GraphDocument) {
    const agentId = await client.createAgent(graph);
    const { status, modelChoices } = await client.sendMessage(agentId, 'hello');
    await client.request('destroyAgent', { agentId });
    expect(status).toBe('SUCCESS');
    return modelChoices;
  }

  it('takes the first one that is on disk and fits memory, and says why', async () => {
    await using server = await startServer(`fits-${subprotocol}`);
    await using client = await connect(server);
    expect(await choiceOf(client, chat({ model_name: ['absent', 'large', 'small', 'fast'] }))).toEqual([
      {
        name: 'small',
        reason:
          'it fits in memory; not "absent": it is not on disk, and its entry names no place to download it from; ' +
          'not "large": it needs about 301.8 MB, and 150.0 MB of memory are free',
      },
    ]);
    expect(await infoOf(client, 'small')).toMatchObject({ choice: 'taken: it fits in memory' });
    expect((await infoOf(client, 'large'))?.choice).toMatch(/^passed over: it needs about/);
    expect(await infoOf(client, 'fast')).toMatchObject({ choice: '', tokensPerSecond: 0 });
  });

  it('goes on to the next one while the chosen one cannot be loaded, and says why', async () => {
    await using server = await startServer(`damaged-${subprotocol}`);
    await using client = await connect(server);
    const names = ['damaged', 'large', 'small'];
    expect(await choiceOf(client, { ...lamp(), default_model_name: names })).toEqual([
      {
        name: 'small',
        reason: expect.stringMatching(
          /^it fits in memory; not "damaged": its weights are damaged; not "large": it needs/,
        ),
      },
    ]);
    expect((await infoOf(client, 'damaged'))?.choice).toBe('passed over: its weights are damaged');
    expect(await infoOf(client, 'small')).toMatchObject({ agents: 0, choice: 'taken: it fits in memory' });
  });

  it('goes on after a download that fails, and names every reason where none is left', async () => {
    const downloads = { env: { HF_HUB_OFFLINE: '1' }, home: folder };
    await using server = await startServer(`offline-${subprotocol}`, { downloads });
    await using client = await connect(server);
    await client.request('configureSession', { engine: 'llama-cpp', allowAutoModelDownloading: true });
    const graphJson = JSON.stringify(chat({ model_name: ['hub', 'damaged'] }));
    const { name, message } = errorOf(await client.request('createAgent', { graphJson }));
    expect(name).toBe('MODEL_LOAD_FAILED');
    expect(message).toMatch(/"hub": "hub" could not be downloaded: .*; "damaged": its weights are damaged\)/);
  });

  it('downloads none that is larger than what is free of the disk', async () => {
    await using server = await startServer(`full-${subprotocol}`, { downloads: { freeBytes: async () => 999 } });
    await using client = await connect(server);
    const graphJson = JSON.stringify(chat({ model_name: ['absent', 'hub'] }));
    expect(errorOf(await client.request('createAgent', { graphJson })).message).toMatch(
      /"hub": its download has .+, and .+ of the disk are free/,
    );
  });

  it('passes over one that was slower than its min_tokens_per_second, also after a restart', async () => {
    const cache = `slow-${subprotocol}`;
    const graph = chat({ model_name: ['fast', 'small'] });
    {
      await using server = await startServer(cache);
      await using client = await connect(server);
      expect(await choiceOf(client, graph)).toEqual([{ name: 'fast', reason: 'it fits in memory' }]);
      expect((await infoOf(client, 'fast'))?.tokensPerSecond).toBeGreaterThan(1);
      // One or two turns may have run on a busy machine.
      for (let turn = 2; turn <= 3; turn++) expect(await choiceOf(client, graph)).toMatchObject([{ name: 'fast' }]);
      const [choice] = await choiceOf(client, graph);
      expect(choice).toMatchObject({ name: 'small' });
      expect(choice?.reason).toMatch(/not "fast": [\d.]+ tokens per second were measured, and its min_tokens_per/);
    }
    await using server = await startServer(cache);
    await using client = await connect(server);
    expect(await choiceOf(client, graph)).toMatchObject([{ name: 'small' }]);
  });

  it('measures no turn that is held back', async () => {
    await using server = await startServer(`held-${subprotocol}`);
    await using client = await connect(server);
    await choiceOf(client, chat({ model_name: 'small', sampling: { max_tokens_per_second: 1000 } }));
    expect(await infoOf(client, 'small')).toMatchObject({ tokensPerSecond: 0 });
  });

  it('is one choice for all nodes, also as the default of the graph', async () => {
    await using server = await startServer(`default-${subprotocol}`);
    await using client = await connect(server);
    const names = ['absent', 'small'];
    const graph = { ...lamp(), default_model_name: names };
    expect(await choiceOf(client, graph)).toMatchObject([{ name: 'small' }]);
    const agentId = await client.createAgent({ ...chat(), default_model_name: names }, { defaultModelName: 'fast' });
    expect(await client.sendMessage(agentId, 'hello')).toMatchObject({ modelChoices: [] });
    expect(await infoOf(client, 'fast')).toMatchObject({ agents: 1 });
  });

  it('is downloaded from where none is on disk', async () => {
    await using server = await startServer(`hub-${subprotocol}`);
    await using client = await connect(server);
    const graphJson = JSON.stringify(chat({ model_name: ['absent', 'hub'] }));
    expect(errorOf(await client.request('createAgent', { graphJson }))).toMatchObject({
      name: 'MODEL_NOT_ON_DISK',
      message: expect.stringContaining('"hub"'),
    });
  });

  it('cannot be changed between turns, as a single name', async () => {
    await using server = await startServer(`live-${subprotocol}`);
    await using client = await connect(server);
    const agentId = await client.createAgent(chat({ model_name: ['small'] }));
    for (const model_name of [['fast'], 'fast']) {
      const paramsJson = JSON.stringify({ model_name });
      expect(errorOf(await client.request('changeParams', { agentId, nodeName: 'answer', paramsJson }))).toMatchObject({
        name: 'PARAM_NOT_MUTABLE',
      });
    }
  });

  it.each<readonly [string, unknown, string]>([
    ['that is empty', [], 'answer.params.model_name must not be empty'],
    ['with an empty name', ['small', ''], 'answer.params.model_name[1] must not be empty'],
    ['with a number', ['small', 7], 'answer.params.model_name[1] must be a string, not 7'],
    ['that is an object', { name: 'small' }, 'must be a name in models.json or a list of names, best first, not {'],
    ['with the same name twice', ['small', 'small'], '"small" is in the list twice; leave one out'],
    [
      'with an unknown name',
      ['small', 'smal'],
      'answer.params.model_name cannot be used: the catalogue has no model "smal"',
    ],
    ['with a model for searches', ['small', 'finder'], 'answer.params.model_name cannot be used: "finder"'],
    [
      'of which none can be used',
      ['absent', 'large'],
      'answer.params.model_name cannot be used: no model of the list can be used ("absent": it is not on disk',
    ],
  ])('%s is refused, with the place', async (_, modelNames, message) => {
    await using server = await startServer(`wrong-${subprotocol}`);
    await using client = await connect(server);
    const graphJson = JSON.stringify(chat({ model_name: modelNames }));
    expect(errorOf(await client.request('createAgent', { graphJson })).message).toContain(message);
  });
});
