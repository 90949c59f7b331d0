import { describe, expect, it } from 'vitest';
import { checkPortedGraph } from '../../../src/cli/tryllNames.ts';
import { checkGraph } from '../../../src/server/checkGraph.ts';
import { defineNode } from '../../../src/graph/compile/node.ts';
import { readCatalogue } from '../../../src/inference/models/catalogue/catalogue.ts';
import { registryWith } from '../../../src/graph/nodes/index.ts';
import { repositoryPath } from '../../helpers/server.ts';

/** A node type that has a name of Tryll's, with a parameter that has one, too. */
const instruction = defineNode({
  type: 'Instruction',
  summary: 'Says a line.',
  params: {
    type: 'object',
    additionalProperties: false,
    properties: { instruction: { type: 'string', default: '' } },
  },
  exits: ['default'],
  create: () => Promise.resolve({ run: () => Promise.resolve('default' as const) }),
});

const catalogue = await readCatalogue(repositoryPath('models.json'));
const context = { registry: registryWith(), catalogue, storageRoot: repositoryPath('graphs') };
const messagesOf = async (graph: unknown, registry = context.registry): Promise<readonly string[]> =>
  (await checkPortedGraph(graph, { ...context, registry })).faults.map(({ message }) => message);

const ofNode = (node: object) => ({
  default_model_name: 'turngraph-demo',
  start_node: 'a',
  nodes: { a: node, b: { type: 'CannedResponse', params: { inline_strings: ['No.'] } } },
});

const lines = { inline_strings: ['No.'] };
const types = `(there are ${[...context.registry.keys()].join(', ')})`;

const answers: readonly (readonly [string, unknown, string])[] = [
  [
    'a node type',
    ofNode({ type: 'HumanMessageGuardrail' }),
    `a.type is no node type: "HumanMessageGuardrail" ${types}; Tryll's HumanMessageGuardrail is "Guardrail" here`,
  ],
  [
    'the class of a node type',
    ofNode({ type: 'UTryllGenerateParams' }),
    `a.type is no node type: "UTryllGenerateParams" ${types}; Tryll's UTryllGenerateParams is "Generate" here`,
  ],
  [
    'the number of a node type',
    ofNode({ type: 0 }),
    'a.type must be a string, not 0; Tryll\'s node type 0 (Generate) is "Generate" here',
  ],
  [
    'a node type without a counterpart',
    ofNode({ type: 'Speak' }),
    `a.type is no node type: "Speak" ${types}; Tryll's Speak has no counterpart: the server has no speech; leave the node out, and let your program speak the text`,
  ],
  [
    'an exit among the parameters',
    ofNode({ type: 'Guardrail', params: { triggered_exit: 'b' } }),
    'a.params.triggered_exit is not known here; Tryll\'s triggered_exit is an exit here: write "exits": {"triggered": "b"}',
  ],
  [
    'an exit among the parameters, as in C#',
    ofNode({ type: 'Guardrail', params: { NotTriggeredExit: '' } }),
    'a.params.NotTriggeredExit is not known here; Tryll\'s NotTriggeredExit is an exit here: write "exits": {"not_triggered": ""}',
  ],
  [
    'an exit among the parameters that ends the turn',
    ofNode({ type: 'Generate', params: { default_exit: 'END' } }),
    'a.params.default_exit is not known here; Tryll\'s default_exit is an exit here: write "exits": {"default": ""}',
  ],
  [
    'an exit with the name of its parameter',
    ofNode({ type: 'Generate', exits: { default_exit: 'b' } }),
    'a.exits.default_exit is no exit of Generate (it has "default"); Tryll\'s default_exit is "default" here',
  ],
  [
    'the target of an exit that ends the turn',
    ofNode({ type: 'Generate', exits: { default: 'END' } }),
    'a.exits.default leads to no node: "END"; Tryll\'s END is "" here, or an exit that is left out: both end the turn',
  ],
  [
    'a value',
    ofNode({ type: 'CannedResponse', params: { ...lines, selection_strategy: 'RoundRobin' } }),
    'a.params.selection_strategy must be one of "random", "first", "in_turn", not "RoundRobin"; Tryll\'s RoundRobin is "in_turn" here',
  ],
  [
    'the number of a value',
    ofNode({ type: 'Generate', params: { placement: 2 } }),
    'a.params.placement must be a string, not 2; Tryll\'s placement 2 is "before_user_as_system" here',
  ],
  [
    'a parameter that is a member of another one',
    ofNode({ type: 'Generate', params: { temperature: '0.5' } }),
    'a.params.temperature is not known here; Tryll\'s temperature is a member of "sampling" here: write "sampling": {"temperature": ...}',
  ],
  [
    'one of several numbered parameters',
    ofNode({ type: 'CannedResponse', params: { ...lines, response_12: 'No.' } }),
    'a.params.response_12 is not known here; Tryll\'s response_12 is an item of a list here: write "inline_strings": ["..."]',
  ],
  [
    'a member of a node',
    ofNode({ type: 'ToolCall', params: { tools: [{ name: 'wave', description: '' }] }, tools: [] }),
    'a.tools is not known here; Tryll\'s tools is a parameter here: write "params": {"tools": [...]}',
  ],
  [
    'a list of parameters',
    ofNode({ type: 'Generate', params: [{ key: 'stream', value: 'true' }] }),
    'a.params must be an object, not [{"key":"stream","value":"true"}]; Tryll\'s list of params is an object here: write "params": {"KEY": VALUE}, numbers and booleans without quotes',
  ],
  [
    'a list of nodes',
    { start_node: 'a', nodes: [] },
    "nodes must be an object, not []; Tryll's list of nodes is an object here: write each node under its name",
  ],
  [
    'a member of the graph',
    { ...ofNode({ type: 'Generate' }), routes: [] },
    'routes is not known here; Tryll\'s routes are here in each node: write "exits": {"EXIT": "NODE"}',
  ],
];

describe('a name of another engine in a graph', () => {
  it.each(answers)('is answered with what a graph says here: %s', async (_, graph, message) => {
    expect(await messagesOf(graph)).toEqual([message]);
  });

  it('does not hide the other faults of its node', async () => {
    const node = { type: 'HumanMessageGuardrail', name: 'a', params: { triggered_exit: 'b', wach: 'answer' } };
    expect(await messagesOf(ofNode(node))).toEqual([
      expect.stringContaining('a.type is no node type'),
      expect.stringContaining('a.name is not known here'),
      expect.stringContaining('a.params.triggered_exit is not known here'),
      'a.params.wach is not known here; did you mean "watch"?',
    ]);
  });

  it('is not seen in the exit of a node type that had it never', async () => {
    expect(await messagesOf(ofNode({ type: 'Generate', exits: { found: 'b' } }))).toEqual([
      'a.exits.found is no exit of Generate (it has "default")',
    ]);
  });

  it('is not seen in a node whose type is no text', async () => {
    const type = { toString: 1, valueOf: 1 };
    expect(await messagesOf(ofNode({ type, params: { temperature: 1 }, exits: { default: 5 } }))).toEqual([
      'a.type must be a string, not {"toString":1,"valueOf":1}',
      'a.exits.default must be a string, not 5',
    ]);
  });

  it('is a name like any other to the server', async () => {
    const { faults } = await checkGraph(
      ofNode({ type: 'HumanMessageGuardrail', params: { triggered_exit: 'b' } }),
      context,
    );
    expect(faults.map(({ message }) => message)).toEqual([`a.type is no node type: "HumanMessageGuardrail" ${types}`]);
    const node = { type: 'Retrieve', params: { embedded_string_storage: 'lore' } };
    expect((await checkGraph(ofNode(node), context)).faults.map(({ message }) => message)).toEqual([
      'a.params.embedded_string_storage is not known here',
    ]);
  });

  it('is no fault where a node type of an extension has it', async () => {
    const graph = ofNode({ type: 'Instruction', params: { instruction: 'Hello.' } });
    expect(await messagesOf(graph, registryWith({ nodeTypes: [instruction] }))).toEqual([]);
  });

  it.each(['constructor', '__proto__', 'toString'])('is not seen in %s', async (name) => {
    const params = JSON.parse(`{"${name}": 2, "placement": "${name}"}`) as object;
    const messages = await messagesOf(ofNode({ type: name, params, exits: { [`${name}_exit`]: name } }));
    const others = await messagesOf(ofNode({ type: 'Generate', params, exits: { [`${name}_exit`]: name } }));
    expect([...messages, ...others].length).toBeGreaterThan(2);
    expect([...messages, ...others].filter((message) => message.includes('Tryll'))).toEqual([]);
  });
});
