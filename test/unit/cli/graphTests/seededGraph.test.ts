import { expect, it } from 'vitest';
import { seededGraph } from '../../../../src/cli/graphTests/caseSession.ts';
import { registryWith } from '../../../../src/graph/nodes/index.ts';

const graph = {
  start_node: 'a',
  nodes: {
    a: { type: 'Generate', params: { system_prompt: 'x', sampling: { temperature: 1 } }, exits: { default: 'b' } },
    b: { type: 'ToolCall', params: { tools: [], sampling: { seed: 7 } } },
    c: { type: 'Generate' },
    d: { type: 'CannedResponse', params: { inline_strings: ['x'] } },
    e: { type: 'Unknown', params: { sampling: {} } },
    f: 3,
  },
};

it.each([
  [1, 1, 7],
  [4, 4, 10],
])('has other seeds in run %i, and none where a node has none', (run, seed, own) => {
  expect(seededGraph(graph, registryWith(), run)).toEqual({
    ...graph,
    nodes: {
      ...graph.nodes,
      a: { ...graph.nodes.a, params: { system_prompt: 'x', sampling: { temperature: 1, seed } } },
      b: { type: 'ToolCall', params: { tools: [], sampling: { seed: own } } },
      c: { type: 'Generate', params: { sampling: { seed } } },
    },
  });
});

it.each([[null], [[]], [{ nodes: 3 }], [{ nodes: { a: { type: 'Generate', params: 3 } } }]])(
  'leaves what is no valid graph as it is, for the server to refuse: %j',
  (document) => {
    expect(seededGraph(document, registryWith(), 1)).toEqual(document);
  },
);
