import { describe, expect, it } from 'vitest';
import { checkGraph } from '../../../../src/server/checkGraph.ts';
import { defineNode } from '../../../../src/graph/compile/node.ts';
import { readCatalogue } from '../../../../src/inference/models/catalogue/catalogue.ts';
import { registryWith } from '../../../../src/graph/nodes/index.ts';
import { repositoryPath } from '../../../helpers/server.ts';

let read: string[][] = [];

const reader = defineNode({
  type: 'Reader',
  summary: 'Reads the names of the tools.',
  params: { type: 'object', additionalProperties: false, properties: {} },
  exits: ['default'],
  create(_, { toolNames }) {
    read.push([...(toolNames() ?? ['not known'])]);
    return Promise.resolve({ run: () => Promise.resolve('default') });
  },
});

const tools = [
  { name: 'jump', description: 'Jumps.' },
  { type: 'function', function: { name: 'sit', description: 'Sits.' } },
];
const graph = {
  start_node: 'read',
  default_model_name: 'turngraph-demo',
  nodes: {
    read: { type: 'Reader', exits: { default: 'detect' } },
    detect: { type: 'ToolCall', params: { tools }, exits: { no_tool_called: 'say' } },
    say: { type: 'CannedResponse', params: { inline_strings: ['No.'] } },
  },
};

async function namesIn(document: object): Promise<readonly (readonly string[])[]> {
  read = [];
  await checkGraph(document, {
    registry: registryWith({ nodeTypes: [reader] }),
    catalogue: await readCatalogue(repositoryPath('models.json')),
    storageRoot: repositoryPath('graphs'),
  });
  return read;
}

describe('the names of the tools of a graph', () => {
  it('are seen by a node while it is created, in whichever form other nodes declare them', async () => {
    expect(await namesIn(graph)).toEqual([['jump', 'sit']]);
  });

  it.each([
    ['has invalid parameters', { type: 'ToolCall', params: { tools, strict: 1 } }],
    ['has a type that does not exist', { type: 'ToolCalls', params: { tools } }],
    ['is no node', { params: { tools } }],
  ])('are not known while a node %s', async (_, other) => {
    expect(await namesIn({ ...graph, nodes: { ...graph.nodes, other } })).toEqual([['not known']]);
  });
});
