import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pino } from 'pino';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { ClientFrameBodies } from '../../src/protocol/frames.gen.ts';
import { chat, guarded, lamp, screened, setLight, type GraphDocument } from '../helpers/graphs.ts';
import { useServer, startTestServer, TestClient, errorOf, subprotocols } from '../helpers/server.ts';

const server = useServer({ maxAgents: 2, maxMessageBytes: 100 });

const invalidGraphs: readonly (readonly [string, unknown, number, string])[] = [
  [
    'an exit to a node that does not exist',
    { start_node: 'a', nodes: { a: { type: 'Generate', exits: { default: 'b' } } } },
    3008,
    'a.exits.default leads to no node: "b"',
  ],
  [
    'a start node that does not exist',
    { start_node: 'anwser', nodes: { answer: { type: 'Generate' } } },
    3003,
    'start_node leads to no node: "anwser"; did you mean "answer"?',
  ],
  ['a node type with a typo', { start_node: 'a', nodes: { a: { type: 'Generat' } } }, 3003, 'did you mean "Generate"?'],
  [
    'a parameter with a typo',
    chat({ sistem_prompt: '' }),
    3003,
    'answer.params.sistem_prompt is not known here; did you mean "system_prompt"?',
  ],
  [
    'a parameter of the wrong type',
    chat({ sampling: { temperature: 'hot' } }),
    3003,
    'answer.params.sampling.temperature must be a number, not "hot"',
  ],
  [
    'an exit that the type does not have',
    { start_node: 'a', nodes: { a: { type: 'Generate', exits: { defautl: '' } } } },
    3003,
    'a.exits.defautl is no exit of Generate (it has "default"); did you mean "default"?',
  ],
  [
    'a field that graphs do not have',
    { ...chat(), startnode: 'x' },
    3003,
    'startnode is not known here; did you mean "start_node"?',
  ],
  ['a graph that is no object', [1, 2], 3003, 'the graph must be an object, not [1,2]'],
  [
    'a pattern that cannot run in linear time',
    guarded(['fine', '(?=look)']),
    3003,
    'guard.params.inline_strings[1] is not a supported pattern (RE2 syntax, no lookaround or backreferences): "(?=look)"',
  ],
  [
    'an empty pattern',
    guarded(['fine', '']),
    3003,
    'guard.params.inline_strings[1] is empty, and would match every text',
  ],
  [
    'a pattern that is too long',
    guarded(['a'.repeat(900_000)]),
    2005,
    'guard.params.inline_strings[0] is too large: it has 900000 characters, and 16384 are allowed',
  ],
  [
    'a pattern whose repetitions are too large',
    guarded(['(?:a{900}){900}']),
    2005,
    'guard.params.inline_strings[0] is too large: it has 812700 characters with its repetitions written out',
  ],
  [
    'a canned response without a line',
    { start_node: 'a', nodes: { a: { type: 'CannedResponse' } } },
    3003,
    'a.params.inline_strings is empty; add at least one line',
  ],
  [
    'a template that does not close',
    chat({ system_prompt: 'Hello {{name' }),
    3003,
    'answer.params.system_prompt is not a valid Mustache template',
  ],
  [
    'a template with too many nested sections',
    chat({ system_prompt: '{{#a}}'.repeat(20_000) + '{{/a}}'.repeat(20_000) }),
    3003,
    'answer.params.system_prompt has sections nested deeper than 100 levels, at 600; nest fewer',
  ],
  ['a template with a partial', chat({ template: '{{> header}}' }), 3003, 'answer.params.template uses a partial'],
  [
    'a tool call node without tools',
    { start_node: 'a', nodes: { a: { type: 'ToolCall' } } },
    3003,
    'a.params.tools is missing',
  ],
  [
    'a tool with a name that no model can write',
    lamp({ tools: [{ ...setLight, name: 'set light' }] }),
    3003,
    'detect.params.tools[0].name',
  ],
  [
    'two tools of one name',
    lamp({ tools: [setLight, setLight] }),
    3003,
    'detect.params.tools[1].name is declared twice: "set_light"',
  ],
  [
    'a tool with two parameters of one name',
    lamp({ tools: [{ ...setLight, parameters: [...setLight.parameters, setLight.parameters[0]] }] }),
    3003,
    'detect.params.tools[0].parameters[2].name is declared twice: "name"',
  ],
  ['a format that does not exist', lamp({ tool_call_format: 'chatlm' }), 3003, 'did you mean "chatml"?'],
  [
    'a parameter that this version does not have',
    chat({ guidelines: [] }),
    3003,
    'answer.params.guidelines is not known here',
  ],
  ['a tool choice that names no tool', lamp({ tool_choice: 'set_lihgt' }), 3003, 'did you mean "set_light"?'],
  [
    'a model that the catalogue does not have',
    chat({ model_name: 'turngraph-dmeo' }),
    6007,
    'the catalogue has no model "turngraph-dmeo"; did you mean "turngraph-demo"?',
  ],
];

type Request = {
  readonly [K in keyof ClientFrameBodies]: readonly [K, Partial<ClientFrameBodies[K]>];
}[keyof ClientFrameBodies];

const invalidRequests: readonly (readonly [string, Request, number])[] = [
  ['an agent that never was', ['sendMessage', { agentId: 7, text: 'hello' }], 3001],
  ['a cancel for an agent that never was', ['cancelTurn', { agentId: 7 }], 3001],
  ['a graph name that the folder does not have', ['createAgent', { graphName: 'lamp-swich' }], 3003],
  ['a graph name that leaves the folder', ['createAgent', { graphName: '../package' }], 3003],
  [
    'a graph that is nested 200,000 levels deep',
    ['createAgent', { graphJson: `${'['.repeat(200_000)}${']'.repeat(200_000)}` }],
    3003,
  ],
  [
    'a graph with a node twice',
    ['createAgent', { graphJson: '{"start_node": "a", "nodes": {"a": {}, "a": {}}}' }],
    3003,
  ],
  ['a graph that is no JSON', ['createAgent', { graphJson: '{' }], 3003],
  ['no graph at all', ['createAgent', {}], 3003],
  ['a model to load that does not exist', ['loadModel', { modelName: 'unknown' }], 6007],
  ['a model to unload that does not exist', ['unloadModel', { modelName: 'unknown' }], 6007],
  ['an engine that does not exist', ['configureSession', { engine: 'lama-cpp' }], 5001],
  ['a page token that the server never sent', ['listModels', { pageToken: 'x' }], 5001],
  ['a session that cannot be resumed', ['resumeSession', { sessionId: 'x' }], 2003],
  ['results for an agent that does not exist', ['submitToolResults', { agentId: 1 }], 3001],
  ['a model to download that does not exist', ['downloadModel', { modelName: 'unknown' }], 6007],
];

describe.each(subprotocols)('over %s', (subprotocol) => {
  const connect = (): Promise<TestClient> => TestClient.connect(server().url, subprotocol);

  it.each(invalidGraphs)('rejects %s', async (_, graph, code, message) => {
    await using client = await connect();
    const answer = errorOf(await client.request('createAgent', { graphJson: JSON.stringify(graph) }));
    expect(answer).toMatchObject({ code, message: expect.stringContaining(message) as unknown });
    // The rejected agent left nothing: the next agent has the number 1.
    expect(await client.createAgent(chat())).toBe(1);
  });

  it.each([
    [
      'of a path',
      'graphs/steward.json',
      'createAgent.graphJson is a path, "graphs/steward.json"; give the text of the file',
    ],
    ['cut short', '{\n  "start_node": "a",\n  "nodes": {', 'createAgent.graphJson is not valid JSON at 3:13: '],
    [
      'with a trailing comma',
      '{ "start_node": "a", }',
      'createAgent.graphJson is not valid JSON at 1:20: a trailing comma is not allowed',
    ],
    [
      'with a name that occurs twice',
      '{\n  "start_node": "a",\n  "start_node": "b" }',
      'createAgent.graphJson has the name "start_node" twice in one object at 3:3',
    ],
  ])('rejects the text of a graph %s at its line and column', async (_, graphJson, message) => {
    await using client = await connect();
    const answer = errorOf(await client.request('createAgent', { graphJson }));
    expect(answer).toMatchObject({ code: 3003, message: expect.stringContaining(message) as unknown });
  });

  it.each(invalidRequests)('rejects %s', async (_, [body, fields], code) => {
    await using client = await connect();
    expect(errorOf(await client.request(body, fields)).code).toBe(code);
    expect(await client.createAgent(chat())).toBe(1);
  });

  it('reports all faults of a graph in one error', async () => {
    await using client = await connect();
    const graph: GraphDocument = {
      start_node: 'x',
      nodes: {
        'a/b': { type: 'Generate', params: { stream: 'yes' }, exits: { default: 'y', other: '' } },
        c: { type: 'Nothing' },
      },
    };
    const { detail } = errorOf(await client.request('createAgent', { graphJson: JSON.stringify(graph) }));
    expect((JSON.parse(detail) as { pointer: string }[]).map(({ pointer }) => pointer)).toEqual([
      '/start_node',
      '/nodes/a~1b/params/stream',
      '/nodes/a~1b/exits/default',
      '/nodes/a~1b/exits/other',
      '/nodes/c/type',
    ]);
  });

  it('rejects an agent above the limit until another is destroyed', async () => {
    await using client = await connect();
    await client.createAgent(chat());
    await client.createAgent(chat());
    expect(errorOf(await client.request('createAgent', { graphJson: JSON.stringify(chat()) }))).toMatchObject({
      code: 2005,
    });
    await client.request('destroyAgent', { agentId: 1 });
    expect(await client.createAgent(chat())).toBe(3);
  });

  it('rejects a message above the limit, and the agent stays usable', async () => {
    await using client = await connect();
    const agentId = await client.createAgent(chat());
    expect(errorOf(await client.request('sendMessage', { agentId, text: 'é'.repeat(51) }))).toMatchObject({
      code: 2005,
    });
    expect(await client.sendMessage(agentId, 'é'.repeat(50))).toMatchObject({ status: 'SUCCESS' });
  });

  it('rejects a change of the engine once there is an agent', async () => {
    await using client = await connect();
    await client.createAgent(chat());
    expect(errorOf(await client.request('configureSession', { engine: 'llama-cpp' }))).toMatchObject({ code: 5001 });
  });

  it('warns of a default model that no node uses, because all name their own', async () => {
    await using client = await connect();
    const own = chat();
    const nodes = Object.fromEntries(
      Object.entries(own.nodes).map(([name, node]) => [
        name,
        { ...node, params: { ...node.params, model_name: 'turngraph-demo' } },
      ]),
    );
    const warningsOf = async (graph: object): Promise<unknown> => {
      const graphJson = JSON.stringify(graph);
      return client.request('createAgent', { graphJson, defaultModelName: 'turngraph-demo' });
    };
    expect(await warningsOf({ ...own, nodes })).toMatchObject({
      createAgent: {
        warnings: ['createAgent.defaultModelName "turngraph-demo" is not used: every node with a model names its own'],
      },
    });
    expect(await warningsOf(own)).toMatchObject({ createAgent: { warnings: [] } });
  });

  it('says how many faults a graph has in addition to the one of the message', async () => {
    await using client = await connect();
    const node = { type: 'Generate', params: { temperatur: 1, strem: true } };
    const graph = { start_node: 'a', default_model_name: 'turngraph-demo', nodes: { a: node } };
    const { message, detail } = errorOf(await client.request('createAgent', { graphJson: JSON.stringify(graph) }));
    expect(message).toMatch(/^a\.params\.temperatur is not known here.*; 1 more fault is in the detail/);
    expect(JSON.parse(detail)).toHaveLength(2);
  });

  it('blames the default model that the client names', async () => {
    await using client = await connect();
    const fields = { graphJson: JSON.stringify(lamp()), defaultModelName: 'turngraph-dmeo' };
    const { code, message } = errorOf(await client.request('createAgent', fields));
    expect(code).toBe(6007);
    expect(message).toMatch(/^createAgent.defaultModelName cannot be used: .*"turngraph-dmeo".*did you mean/);
  });

  it('warns of a turn without a word, and of an answer that is checked too late', async () => {
    await using client = await connect();
    const { detect } = lamp().nodes;
    const silent = { start_node: 'detect', nodes: { detect: { ...detect, exits: {} } } };
    expect(await client.request('createAgent', { graphJson: JSON.stringify(silent) })).toMatchObject({
      createAgent: { warnings: [expect.stringMatching(/^detect.exits.no_tool_called can end a turn/) as unknown] },
    });
    const { nodes, ...rest } = screened('secret');
    const late = { ...rest, nodes: { ...nodes, answer: { ...nodes['answer'], params: {} } } };
    expect(await client.request('createAgent', { graphJson: JSON.stringify(late) })).toMatchObject({
      createAgent: { warnings: [expect.stringMatching(/checks the answer of answer after it was sent/) as unknown] },
    });
  });

  it('warns of patterns that match every text', async () => {
    await using client = await connect();
    const graphJson = JSON.stringify(guarded(['x*', 'attack', '.*']));
    expect(await client.request('createAgent', { graphJson })).toMatchObject({
      createAgent: {
        warnings: [
          'guard.params.inline_strings[0] matches every text, so that this Guardrail always triggers: "x*"',
          'guard.params.inline_strings[2] matches every text, so that this Guardrail always triggers: ".*"',
        ],
      },
    });
  });

  it('warns of a tool call node with many tools', async () => {
    await using client = await connect();
    const tools = Array.from({ length: 9 }, (_, index) => ({ ...setLight, name: `tool_${index}` }));
    const answer = await client.request('createAgent', { graphJson: JSON.stringify(lamp({ tools })) });
    expect(answer).toMatchObject({
      createAgent: { warnings: ['detect.params.tools has 9 entries: small models get lost above 8'] },
    });
  });
});

describe('a model file that cannot be loaded', () => {
  let folder = '';
  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'turngraph-'));
    const model = (name: string, file: string) => ({
      name,
      variants: [{ engine: 'llama-cpp', local_path: '.', files: [file] }],
    });
    const absent = {
      name: 'absent',
      variants: [{ engine: 'llama-cpp', huggingface_repo: 'someone/something', files: ['x.gguf'] }],
    };
    await writeFile(
      join(folder, 'models.json'),
      JSON.stringify({ models: [model('text', 'text.gguf'), model('missing', 'missing.gguf'), absent] }),
    );
    await writeFile(join(folder, 'text.gguf'), 'this is no model');
  });
  afterAll(() => rm(folder, { recursive: true }));

  const other = useServerWithCatalogue(() => join(folder, 'models.json'));

  it.each([
    ['is no GGUF', 'text', 6009],
    ['does not exist', 'missing', 6008],
    ['has not been downloaded', 'absent', 6008],
  ])('because it %s is an error with a message, and the server keeps running', async (_, modelName, code) => {
    await using client = await TestClient.connect(other().url, 'turngraph.v1.json', 'llama-cpp');
    const answer = errorOf(await client.request('loadModel', { modelName }));
    expect(answer).toMatchObject({ code, message: expect.stringMatching(/\w+ .*\w/) as unknown });
    expect(
      errorOf(await client.request('createAgent', { graphJson: JSON.stringify(chat({ model_name: modelName })) })).code,
    ).toBe(code);
    expect(await client.request('listModels')).toMatchObject({ body: 'listModels' });
  });
});

function useServerWithCatalogue(catalogue: () => string): ReturnType<typeof useServer> {
  return useServer({
    get catalogue() {
      return catalogue();
    },
  });
}

it('work after a turn that fails is logged by its code', async () => {
  const lines: string[] = [];
  const log = pino({ level: 'debug' }, { write: (line: string) => void lines.push(line) });
  const script = [{ node: 'answer.summary', answer: ' ' }, { answer: 'Well.' }];
  await using server = await startTestServer({ log, script });
  await using client = await TestClient.connect(server.url, 'turngraph.v1.json');
  const agentId = await client.createAgent(chat({ summary: true, summary_tokens: 40, sampling: { max_tokens: 16 } }));
  const isLogged = (): boolean => lines.some((line) => line.includes('work after a turn failed'));
  for (let turn = 0; turn < 40 && !isLogged(); turn++) await client.sendMessage(agentId, 'a secret '.repeat(200));
  const failed = lines.filter((line) => line.includes('work after a turn failed'));
  expect(failed[0]).toContain(`"agentId":${agentId},"code":`);
  expect(lines.join('')).not.toContain('a secret');
});

it.each(['info', 'debug'] as const)('a turn that a client cannot have is logged at %s by its code', async (level) => {
  const lines: string[] = [];
  const log = pino({ level }, { write: (line: string) => void lines.push(line) });
  await using server = await startTestServer({ log });
  await using client = await TestClient.connect(server.url, 'turngraph.v1.json');
  const agentId = await client.createAgent(chat({ model_name: 'turngraph-demo' }));
  await client.sendMessage(agentId, 'secret '.repeat(9000));
  const failed = lines.filter((line) => line.includes('turn failed'));
  expect(failed[0]).toContain('"code":4004,"name":"PROMPT_TOO_LARGE"');
  expect(lines.join('')).not.toContain('secret');
  expect(failed.join('').includes('shorten')).toBe(level === 'debug');
});
