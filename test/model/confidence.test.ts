import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startLlamaServer, type TestLlamaServer } from '../helpers/inference/llamaServer.ts';
import { startOpenAiServer, type TestOpenAiServer } from '../helpers/inference/openAiServer.ts';
import { repositoryPath, TestClient, useServer } from '../helpers/server.ts';

let folder = '';
let remotes: readonly [TestLlamaServer, TestOpenAiServer, TestOpenAiServer];
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'turngraph-'));
  const contextSize = 1024;
  const silent = { contextSize, tokenizes: false, tellsControlTokens: false, sendsIds: false };
  remotes = [
    await startLlamaServer({ contextSize }),
    await startOpenAiServer({ contextSize }),
    await startOpenAiServer(silent),
  ];
  const [llama, openAi, unknown] = remotes;
  const others = { engine: 'http', api: 'openai', chat_template: 'template.jinja' };
  const demo = { engine: 'llama-cpp', local_path: repositoryPath('models'), files: ['turngraph-demo.gguf'] };
  const models = [
    { name: 'llama-cpp', variants: [{ ...demo, context_size: contextSize }] },
    { name: 'llama-server', variants: [{ engine: 'http', api: 'llama-server', base_url: llama.url }] },
    { name: 'openai', variants: [{ ...others, base_url: openAi.url }] },
    { name: 'openai without token ids', variants: [{ ...others, base_url: unknown.url }] },
  ];
  await writeFile(join(folder, 'template.jinja'), openAi.chatTemplate);
  await writeFile(join(folder, 'models.json'), JSON.stringify({ models }));
});
afterAll(async () => {
  for (const one of remotes) await one[Symbol.asyncDispose]();
  await rm(folder, { recursive: true });
});
const server = useServer({
  get catalogue() {
    return join(folder, 'models.json');
  },
});

async function detectingGraph(params: object): Promise<object> {
  const { nodes } = JSON.parse(await readFile(repositoryPath('graphs/lamp-switch.json'), 'utf8')) as {
    readonly nodes: { readonly detect: { readonly params: object } };
  };
  const detect = { type: 'ToolCall', params: { ...nodes.detect.params, ...params } };
  return { start_node: 'detect', nodes: { detect } };
}

const clear = 'Please turn on the porch light.';
const unclear = 'I would like the thing in the cellar to be off or on';

describe.each(['llama-cpp', 'llama-server', 'openai'])('the confidence of calls of %s', (model) => {
  it.each([true, false])('is high for a clear message and lower for another one, with strict %s', async (strict) => {
    await using client = await TestClient.connect(server().url, 'turngraph.v1.json', 'llama-cpp');
    const sampling = { temperature: 0 };
    const agentId = await client.createAgent(await detectingGraph({ model_name: model, strict, sampling }));
    const confidences: (number | undefined)[] = [];
    for (const message of [clear, unclear])
      for (const { confidence } of (await client.sendMessage(agentId, message)).calls) confidences.push(confidence);
    expect(confidences).toHaveLength(2);
    expect(confidences[0]).toBeGreaterThan(0.98);
    // It depends on the batches of a prompt: about 0.79.
    expect(confidences[1]).toBeCloseTo(0.79, 1);
    const least = { paramsJson: JSON.stringify({ min_confidence: 0.9 }) };
    await client.request('changeParams', { agentId, nodeName: 'detect', ...least });
    expect((await client.sendMessage(agentId, clear)).steps).toBe('detect:tool_called');
    expect((await client.sendMessage(agentId, unclear)).steps).toBe('detect:unsure');
    const confirmed = await client.sendMessage(agentId, 'Yes.');
    expect(confirmed.calls).toMatchObject([{ typedArgumentsJson: '{"name": "cellar", "on": false}' }]);
    expect(confirmed.tokensPrompt).toBe(0);
  });
});

it('does not depend on the temperature or on other samplers', async () => {
  await using client = await TestClient.connect(server().url, 'turngraph.v1.json', 'llama-cpp');
  const sampling = { temperature: 0.01, top_k: 1, speculate: 'prompt' };
  const agentId = await client.createAgent(await detectingGraph({ model_name: 'llama-cpp', sampling }));
  expect((await client.sendMessage(agentId, unclear)).calls[0]?.confidence).toBeCloseTo(0.79, 1);
});

it('is unknown where the server names no tokens: that is a warning, and calls are sent', async () => {
  await using client = await TestClient.connect(server().url, 'turngraph.v1.json', 'llama-cpp');
  const graph = await detectingGraph({ model_name: 'openai without token ids', min_confidence: 1 });
  const created = await client.request('createAgent', { graphJson: JSON.stringify(graph) });
  if (created.body !== 'createAgent') throw new Error(JSON.stringify(created));
  const { agentId, warnings } = created.createAgent;
  expect(warnings.join()).toContain('detect.params.min_confidence has no effect, and all calls are sent');
  const [call] = (await client.sendMessage(agentId, unclear)).calls;
  expect(call?.toolName).toBe('set_light');
  expect(call).not.toHaveProperty('confidence');
});
