import { byName, type GraphFile, type GraphNode } from './graphDocument.ts';

/** A parsed graph with the nodes of an earlier one where they are equal, so that only what depends on changed nodes is drawn again. */
export function shareUnchanged(before: GraphFile | undefined, after: GraphFile): GraphFile {
  if (!before) return after;
  const nodes = Object.entries(after.nodes).map(([name, node]) => [name, shared(before.nodes[name], node)] as const);
  return { ...after, nodes: byName(nodes) };
}

const shared = (before: GraphNode | undefined, after: GraphNode): GraphNode =>
  before && JSON.stringify(before) === JSON.stringify(after) ? before : after;
