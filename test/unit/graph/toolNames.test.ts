import { expect, it } from 'vitest';
import { checkGraph } from '../../../src/agent/checkGraph.ts';
import { defineNode } from '../../../src/graph/node.ts';
import { readCatalogue } from '../../../src/models/catalogue/readCatalogue.ts';
import { registryWith } from '../../../src/nodes/index.ts';
import { repositoryPath } from '../../helpers/server.ts';

const reader = defineNode({
  type: 'Reader',
  summary: 'Warns of the tools that it finds.',
  params: { type: 'object', additionalProperties: false, properties: {} },
  exits: ['default'],
  create(_, { toolNames, warn }) {
    warn(`tools: ${[...toolNames()].join(', ')}`);
    return Promise.resolve({ run: () => Promise.resolve('default') });
  },
});

it('a node sees the names of the tools that other nodes declare, in whichever form, while it is created', async () => {
  const tools = [
    { name: 'jump', description: 'Jumps.' },
    { type: 'function', function: { name: 'sit', description: 'Sits.' } },
  ];
  const { warnings } = await checkGraph(
    {
      start_node: 'read',
      default_model_name: 'turngraph-demo',
      nodes: {
        read: { type: 'Reader', exits: { default: 'detect' } },
        detect: { type: 'ToolCall', params: { tools }, exits: { no_tool_called: 'say' } },
        say: { type: 'CannedResponse', params: { inline_strings: ['No.'] } },
      },
    },
    {
      registry: registryWith({ nodeTypes: [reader] }),
      catalogue: await readCatalogue(repositoryPath('models.json')),
      storageRoot: repositoryPath('graphs'),
    },
  );
  expect(warnings).toContain('tools: jump, sit');
});
