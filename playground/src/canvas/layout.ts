import { Graph, layout } from '@dagrejs/dagre';
import type { GraphFile } from '../document/graphDocument.ts';

/** Where the centre of each node is, in pixels. */
export type NodePositions = ReadonlyMap<string, { readonly x: number; readonly y: number }>;

/** The size of a node on the canvas, in pixels. */
export const nodeSize = { width: 210, height: 76 } as const;

/** Places the nodes of a graph in layers from left to right, in the order of their exits (Sugiyama, by dagre). */
export function layoutGraph({ nodes }: GraphFile): NodePositions {
  const graph = new Graph();
  graph.setGraph({ rankdir: 'LR', nodesep: 36, ranksep: 90 });
  graph.setDefaultEdgeLabel(() => ({}));
  for (const name of Object.keys(nodes)) graph.setNode(name, { ...nodeSize });
  for (const [name, { exits = {} }] of Object.entries(nodes))
    for (const target of Object.values(exits)) if (nodes[target]) graph.setEdge(name, target);
  layout(graph);
  return new Map(Object.keys(nodes).map((name) => [name, graph.node(name)]));
}
