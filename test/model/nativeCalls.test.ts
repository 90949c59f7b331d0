import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { chainGguf } from '../../scripts/gguf/chain.mjs';
import { familyGguf } from '../../scripts/gguf/families.mjs';
import { byteLevelVocab } from '../../scripts/gguf/vocabulary.mjs';
import { namedJsonTemplate, unescapedTemplate } from '../helpers/dialectTemplates.ts';
import { lamp, type GraphDocument } from '../helpers/graphs.ts';
import { useServer, TestClient, oneSubprotocol } from '../helpers/server.ts';

/** A model that answers `<act>set_light<with>{...}</act>`, whatever it is asked. */
const caller = {
  vocab: byteLevelVocab({
    pre: 'llama-bpe',
    control: ['<eos>', '<|assistant|>', '<act>', '<with>', '</act>'],
    userDefined: ['set_light', '{"name": "porch", "on": true}'],
    bos: 0,
    eos: 0,
  }),
  chatTemplate: namedJsonTemplate,
  next: {
    '<|assistant|>': '<act>',
    '<act>': 'set_light',
    set_light: '<with>',
    '<with>': '{"name": "porch", "on": true}',
    '{"name": "porch", "on": true}': '</act>',
  },
};

let folder = '';
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'turngraph-'));
  await writeFile(join(folder, 'caller.gguf'), chainGguf(caller));
  await writeFile(join(folder, 'unescaped.gguf'), familyGguf('Qwen3', { chatTemplate: unescapedTemplate }));
  const variant = { engine: 'llama-cpp', local_path: '.', context_size: 1024 };
  const briefTemplate = namedJsonTemplate.replace('tool.function | tojson', 'tool.function.name');
  await writeFile(join(folder, 'brief.gguf'), chainGguf({ ...caller, chatTemplate: briefTemplate }));
  const models = ['caller', 'unescaped', 'brief'].map((name) => ({
    name,
    variants: [{ ...variant, files: [`${name}.gguf`] }],
  }));
  await writeFile(join(folder, 'models.json'), JSON.stringify({ models }));
});
afterAll(() => rm(folder, { recursive: true }));

const server = useServer({
  get catalogue() {
    return join(folder, 'models.json');
  },
});

/** A graph that offers a tool to a model. */
const detecting = (model: string, params: object = {}): GraphDocument => ({
  ...lamp(params),
  default_model_name: model,
});

describe.each(oneSubprotocol)('over %s, a model with tool calls of its own', (subprotocol) => {
  const connect = (): Promise<TestClient> => TestClient.connect(server().url, subprotocol, 'llama-cpp');

  async function warningsOf(client: TestClient, model: string, params: object = {}): Promise<readonly string[]> {
    const answer = await client.request('createAgent', { graphJson: JSON.stringify(detecting(model, params)) });
    if (answer.body !== 'createAgent') throw new Error(JSON.stringify(answer));
    return answer.createAgent.warnings.filter((warning) => /tool_call_format|leaves/.test(warning));
  }

  it('is asked and read in the layout of its chat template', async () => {
    await using client = await connect();
    const agentId = await client.createAgent(detecting('caller'), { enableDiagnostics: true });
    const turn = await client.sendMessage(agentId, 'Light, please.');
    expect(turn).toMatchObject({ status: 'SUCCESS', steps: 'detect:tool_called' });
    expect(turn.calls).toMatchObject([
      { toolName: 'set_light', typedArgumentsJson: '{"name": "porch", "on": true}', known: true, repaired: false },
    ]);
    expect(await warningsOf(client, 'caller')).toEqual([]);
  });

  it('warns of the probe for which no format is used', async () => {
    await using client = await connect();
    const [warning, ...others] = await warningsOf(client, 'unescaped');
    expect(warning).toContain("detect.params.tool_call_format is chatml by default: the model's tool calls may not be");
    expect(warning).toContain('a string with quotes is read as no call');
    expect(others).toEqual([]);
  });

  it('warns of what its chat template leaves out of the tools', async () => {
    await using client = await connect();
    const level = {
      name: 'set_level',
      description: 'Set a level.',
      parameters: [{ name: 'level', type: 'integer', enum: [1, 2] }],
    };
    expect(await warningsOf(client, 'brief', { tools: [level] })).toEqual([
      expect.stringContaining("detect: the model's chat template leaves an enum of numbers of the tool set_level out"),
    ]);
    expect(await warningsOf(client, 'brief')).toEqual([]);
    expect(await warningsOf(client, 'brief', { tools: [level], tool_call_format: 'generic' })).toEqual([
      expect.stringContaining('is generic, but the model was trained on native'),
    ]);
    expect(await warningsOf(client, 'caller', { tools: [level] })).toEqual([]);
  });

  it('warns not where the graph names a format', async () => {
    await using client = await connect();
    expect(await warningsOf(client, 'unescaped', { tool_call_format: 'generic' })).toEqual([]);
    expect(await warningsOf(client, 'caller', { tool_call_format: 'native' })).toEqual([]);
    const [warning] = await warningsOf(client, 'caller', { tool_call_format: 'chatml' });
    expect(warning).toContain('is chatml, but the model was trained on native');
  });

  it('cannot be asked in a layout that did not prove itself', async () => {
    await using client = await connect();
    const graph = detecting('unescaped', { tool_call_format: 'native' });
    expect(await client.request('createAgent', { graphJson: JSON.stringify(graph) })).toMatchObject({
      error: { name: 'GRAPH_COMPILATION_FAILED', message: expect.stringContaining('a string with quotes') as string },
    });
  });
});
