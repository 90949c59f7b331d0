import { nodeOf, type AuditedGraph } from './auditedGraph.ts';
import { listNames, type PropertyVerdict } from './property.ts';
import { reachableNodes } from './walk.ts';

/** Whether every node can be reached from the start, by exits that nodes take with their parameters. */
export function proveNodesReachable(graph: AuditedGraph): PropertyVerdict {
  const reached = reachableNodes(graph);
  const nodes = [...graph.nodes.keys()].filter((name) => !reached.has(name));
  if (nodes.length === 0) {
    const count = graph.nodes.size;
    return { proven: true, reason: count === 1 ? 'the only node is the start' : `all ${count} nodes can be reached` };
  }
  const notes = [...reached.keys()].flatMap((name) => {
    const node = nodeOf(graph, name);
    return node.unusedExits
      .filter((exit) => nodes.includes(node.targets.get(exit) ?? ''))
      .map((exit) => `${name} never takes its exit ${exit} with its parameters`);
  });
  const subject = nodes.length === 1 ? `${nodes[0]} is` : `${listNames(nodes)} are`;
  return {
    proven: false,
    reason: [`${subject} reached by no path from the start`, ...notes].join('; '),
    fix: `lead an exit to ${nodes.length === 1 ? 'it' : 'them'}, or remove ${nodes.length === 1 ? 'it' : 'them'}`,
    path: [],
    nodes,
  };
}
