import { type AuditedGraph, type AuditedNode, nodeOf, targetOf } from './auditedGraph.ts';
import { type AuditStep, listNames, type PropertyVerdict, reachableNodes } from './walk.ts';

/**
 * Whether every loop ends by itself, before the step budget makes the turn fail: a loop is bounded if it has an exit that
 * its node takes only a limited number of times in a turn. So without these exits there must be no loop.
 */
export function proveLoopsBounded(graph: AuditedGraph): PropertyVerdict {
  const path = shortestLoop(graph, (node, exit) => !node.effects.limitedExits.includes(exit));
  if (!path) return { proven: true, reason: whyProven(graph) };
  const last = path.at(-1)?.node ?? '';
  const nodes = [...new Set(path.slice(path.findIndex(({ node }) => node === last)).map(({ node }) => node))];
  return {
    proven: false,
    reason: `the loop through ${listNames(nodes)} has no limit but the step budget (max_steps_per_turn), and a turn that uses it up fails`,
    fix: 'write the second try as nodes of its own, or let the loop pass tool_called of a ToolCall, which max_rounds limits',
    path,
    nodes,
  };
}

type IsOpen = (node: AuditedNode, exit: string) => boolean;

/** The shortest path from the start that enters a loop of open exits and comes back to where the loop begins. */
function shortestLoop(graph: AuditedGraph, isOpen: IsOpen): readonly AuditStep[] | undefined {
  let shortest: readonly AuditStep[] | undefined;
  for (const [name, before] of reachableNodes(graph)) {
    const loop = shortestWayBack(graph, name, isOpen);
    if (!loop || (shortest && before.length + loop.length >= shortest.length - 1)) continue;
    shortest = [...before, ...loop, { node: name }];
  }
  return shortest;
}

function shortestWayBack(graph: AuditedGraph, start: string, isOpen: IsOpen): readonly AuditStep[] | undefined {
  for (const [name, path] of reachableNodes(graph, isOpen, start)) {
    const node = graph.nodes.get(name);
    const exit = node?.exits.find((each) => isOpen(node, each) && targetOf(graph, node, each)?.name === start);
    if (exit !== undefined) return [...path, { node: name, exit }];
  }
  return undefined;
}

function whyProven(graph: AuditedGraph): string {
  return shortestLoop(graph, () => true)
    ? 'every loop passes an exit that its node takes only a limited number of times in a turn'
    : 'there is no loop';
}

/** Whether every node can be reached from the start, by exits that nodes take with their parameters. */
export function proveNodesReachable(graph: AuditedGraph): PropertyVerdict {
  const reached = reachableNodes(graph);
  const nodes = [...graph.nodes.keys()].filter((name) => !reached.has(name));
  if (nodes.length === 0) {
    const count = graph.nodes.size;
    return { proven: true, reason: count === 1 ? 'the only node is the start' : `all ${count} nodes can be reached` };
  }
  const notes = [...reached.keys()].flatMap((name) => {
    const { unusedExits, targets } = nodeOf(graph, name);
    const unused = unusedExits.filter((exit) => nodes.includes(targets.get(exit) ?? ''));
    return unused.map((exit) => `${name} never takes its exit ${exit} with its parameters`);
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
