import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startLlamaServer, type TestLlamaServer } from '../helpers/inference/llamaServer.ts';
import { startOpenAiServer, type TestOpenAiServer } from '../helpers/inference/openAiServer.ts';
import { repositoryPath, TestClient, useServer } from '../helpers/server.ts';

let folder = '';
let remote: TestLlamaServer;
let openAi: TestOpenAiServer;
let silent: TestOpenAiServer;
beforeAll(async () => {
  remote = await startLlamaServer({ contextSize: 2048, apiKey: 'secret-of-the-test' });
  process.env['TURNGRAPH_TEST_KEY'] = 'secret-of-the-test';
  folder = await mkdtemp(join(tmpdir(), 'turngraph-'));
  openAi = await startOpenAiServer({ contextSize: 2048, apiKey: 'secret-of-the-test' });
  silent = await startOpenAiServer({ contextSize: 2048, tokenizes: false, tellsControlTokens: false, sendsIds: false });
  await writeFile(join(folder, 'template.jinja'), openAi.chatTemplate);
  const served = { engine: 'http', api: 'llama-server', base_url: remote.url, api_key_env: 'TURNGRAPH_TEST_KEY' };
  const others = { ...served, api: 'openai', chat_template: 'template.jinja' };
  const models = [
    { name: 'llama-server', variants: [served] },
    { name: 'openai', variants: [{ ...others, base_url: openAi.url }] },
    { name: 'openai without a tokenizer', variants: [{ ...others, base_url: silent.url }] },
    { name: 'without a key', variants: [{ ...served, api_key_env: 'TURNGRAPH_NO_SUCH_KEY' }] },
  ];
  await writeFile(join(folder, 'models.json'), JSON.stringify({ models }));
});
afterAll(async () => {
  delete process.env['TURNGRAPH_TEST_KEY'];
  for (const one of [remote, openAi, silent]) await one[Symbol.asyncDispose]();
  await rm(folder, { recursive: true });
});

const server = useServer({
  get catalogue() {
    return join(folder, 'models.json');
  },
});

interface GraphFile {
  readonly nodes: Readonly<Record<string, { readonly type: string; readonly params: object }>>;
}

/** A bundled graph with another model, and other parameters of its ToolCall nodes. */
async function graphWith(name: string, model: string, params: object): Promise<object> {
  const graph = JSON.parse(await readFile(repositoryPath(`graphs/${name}.json`), 'utf8')) as GraphFile;
  const nodes = Object.entries(graph.nodes).map(([node, { type, ...rest }]) => [
    node,
    { type, ...rest, params: { ...rest.params, ...(type === 'ToolCall' && params) } },
  ]);
  return { ...graph, default_model_name: model, nodes: Object.fromEntries(nodes) as object };
}

const messages = {
  'lamp-switch': ['Please turn on the porch light.', 'Turn off the kitchen lamp.', 'Hello!'],
  'tavern-npc': ['Hand me a torch.', "Don't look so grim, smile!", 'Who are you?'],
} as const;
const greedy = { sampling: { temperature: 0, max_tokens: 60 } };

/** Runs a conversation; with strict calls without its second message, which shows only how an earlier call is written. */
async function turnsWith(graph: keyof typeof messages, model: string, params: object): Promise<readonly object[]> {
  await using client = await TestClient.connect(server().url, 'turngraph.v1.json', 'llama-cpp');
  const agentId = await client.createAgent(await graphWith(graph, model, { ...greedy, ...params }));
  const turns: object[] = [];
  const texts = messages[graph].filter((_, index) => !('strict' in params && index === 1));
  for (const text of texts) {
    const { calls, steps, status } = await client.sendMessage(agentId, text);
    turns.push({
      status,
      steps,
      calls: calls.map(({ toolName, argumentsJson, known }) => ({ toolName, argumentsJson, known })),
    });
  }
  return turns;
}

const inProcess = new Map<string, Promise<readonly object[]>>();

/** What the model does in process: computed once for all servers. */
function turnsInProcess(graph: keyof typeof messages, params: object): Promise<readonly object[]> {
  const key = JSON.stringify([graph, params]);
  const turns = inProcess.get(key) ?? turnsWith(graph, 'turngraph-demo', params);
  inProcess.set(key, turns);
  return turns;
}

const formats = ['chatml', 'llama3', 'mistral', 'generic'];
// The graph does not matter to a format, nor the format to a graph.
const graphFormats = [...formats.map((format) => ['lamp-switch', format] as const), ['tavern-npc', 'chatml'] as const];

describe.each(['llama-server', 'openai', 'openai without a tokenizer'])('a model on a server: %s', (served) => {
  it.each(graphFormats)('makes the calls of %s as the same model in process, in %s', async (graph, format) => {
    const expected = await turnsInProcess(graph, { tool_call_format: format });
    expect(JSON.stringify(expected)).toContain('toolName');
    expect(await turnsWith(graph, served, { tool_call_format: format })).toEqual(expected);
  });
});

describe.each(['llama-server', 'openai'])('a model on a server that tokenizes: %s', (served) => {
  it.each(formats)('makes strict calls as the same model in process, in %s', async (format) => {
    const params = { tool_call_format: format, strict: true };
    const expected = await turnsInProcess('lamp-switch', params);
    expect(await turnsWith('lamp-switch', served, params)).toEqual(expected);
    const required = { ...params, tool_choice: 'required' };
    const bound = await turnsInProcess('lamp-switch', required);
    expect(await turnsWith('lamp-switch', served, required)).toEqual(bound);
    const { completions } = (served === 'openai' ? openAi : remote).log;
    const field = served === 'openai' ? 'structured_outputs' : 'grammar';
    expect(completions.some((body) => body[field] !== undefined && body['stream'] === true)).toBe(true);
  });
});

describe('a model on a server that is sent text', () => {
  it.each(formats)('makes strict calls that fit their tools, in %s', async (format) => {
    const params = { tool_call_format: format, strict: true, tool_choice: 'required' };
    for (const turn of await turnsWith('lamp-switch', 'openai without a tokenizer', params))
      expect(turn).toMatchObject({ status: 'SUCCESS', calls: [{ toolName: 'set_light', known: true }] });
  });
});

describe('a model on an inference server', () => {
  it('is listed as a model that needs no download', async () => {
    await using client = await TestClient.connect(server().url, 'turngraph.v1.json', 'llama-cpp');
    await client.request('loadModel', { modelName: 'llama-server' });
    const frame = await client.request('listModels', {});
    const list = frame.body === 'listModels' ? frame.listModels.models : [];
    expect(list.find(({ name }) => name === 'llama-server')).toMatchObject({
      status: 'LOADED',
      files: [],
      backend: 'http',
      slots: 2,
      contextSize: 2048,
    });
    expect(list.find(({ name }) => name === 'without a key')).toMatchObject({ status: 'LOCAL' });
  });

  it('is refused without its key, which no message shows', async () => {
    await using client = await TestClient.connect(server().url, 'turngraph.v1.json', 'llama-cpp');
    const answer = await client.request('loadModel', { modelName: 'without a key' });
    expect(JSON.stringify(answer)).toContain('TURNGRAPH_NO_SUCH_KEY');
    expect(JSON.stringify(client.received)).not.toContain('secret-of-the-test');
  });
});
