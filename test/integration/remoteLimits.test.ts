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
import { chat, lamp } from '../helpers/graphs.ts';
import { routed } from '../helpers/routeGraphs.ts';
import { subprotocols, TestClient, useServer } from '../helpers/server.ts';

// A server that completes text, and nothing else.
let plain: ScriptedServer;
let folder = '';
beforeAll(async () => {
  plain = await startScriptedServer();
  plain.script = (path, _, response) => path === 'probe' && sendError(response, 400, 'unknown field');
  folder = await mkdtemp(join(tmpdir(), 'turngraph-'));
  const served = { engine: 'http', api: 'openai', base_url: plain.url, chat_template: 'template.jinja' };
  await writeFile(join(folder, 'template.jinja'), scriptedTemplate);
  const models = [
    { name: 'plain', variants: [served] },
    { name: 'long', variants: [{ ...served, context_size: 300_000 }] },
  ];
  await writeFile(join(folder, 'models.json'), JSON.stringify({ models }));
});
afterAll(async () => {
  await plain[Symbol.asyncDispose]();
  await rm(folder, { recursive: true });
});

const server = useServer({
  get catalogue() {
    return join(folder, 'models.json');
  },
});

const needsGrammar = / cannot be had from this model: the inference server at http:.* follows no grammar in GBNF/;

describe.each(subprotocols)('a model of a server without grammars and probabilities, over %s', (subprotocol) => {
  it.each<[string, object, RegExp]>([
    ['strict', lamp({ strict: true }), needsGrammar],
    ['tool_choice', lamp({ tool_choice: 'required' }), needsGrammar],
    [
      'response_schema',
      chat({ model_name: 'plain', response_schema: { type: 'object', properties: {} } }),
      needsGrammar,
    ],
    ['answer_fields', chat({ model_name: 'plain', answer_fields: [{ name: 'say', type: 'speech' }] }), needsGrammar],
    [
      'model_name',
      routed([{ name: 'order' }, { name: 'chat' }], { model_name: 'plain' }),
      / names a model that cannot be used: .* cannot score answers: it does not report the probabilities/,
    ],
  ])('is refused when an agent with %s is made', async (param, graph, why) => {
    await using client = await TestClient.connect(server().url, subprotocol, 'llama-cpp');
    const refused = client.createAgent({ ...graph, default_model_name: 'plain' });
    await expect(refused).rejects.toThrow(why);
    await expect(refused).rejects.toThrow(`params.${param}`);
  });

  it('answers, and warns of samplers that the server does not have', async () => {
    await using client = await TestClient.connect(server().url, subprotocol, 'llama-cpp');
    const graph = chat({ model_name: 'plain', sampling: { dry: { multiplier: 0.8 } } });
    const agentId = await client.createAgent(graph);
    const first = await client.sendMessage(agentId, 'Hello?');
    expect(first).toMatchObject({ text: 'Yes.', status: 'SUCCESS' });
    expect(JSON.stringify(client.received)).toContain('dry and xtc have no effect on the inference server');
  });

  it('answers a message of more tokens than a function can have arguments', async () => {
    await using client = await TestClient.connect(server().url, subprotocol, 'llama-cpp');
    plain.props = { max_model_len: 300_000 };
    const agentId = await client.createAgent(chat({ model_name: 'long' }));
    plain.props = {};
    expect(await client.sendMessage(agentId, 'a'.repeat(200_000))).toMatchObject({ text: 'Yes.', status: 'SUCCESS' });
  });
});
