import type { GraphDocument } from '../../graph/compile/document.ts';
import type { EffectsContext, CallableTool, WatchedText } from '../../graph/compile/node.ts';
import type { Registry } from '../../graph/compile/registry.ts';
import type { AuditProperty, PropertyVerdict, AuditStep } from './guardProofs.ts';
import {
  proveAnswerGuarded,
  proveMessageGuarded,
  joinNames,
  reachableNodes,
  isGuarded,
  reachedNodes,
} from './guardProofs.ts';
import { readAuditedGraph, nodeOf, type AuditedGraph, type AuditedNode } from './auditedGraph.ts';

export interface GraphAudit {
  readonly start: string;
  readonly nodes: number;
  readonly properties: Readonly<Record<AuditProperty, PropertyVerdict>>;
  /** The nodes that may run a model, of those that can be reached. */
  readonly models: readonly AuditedModelNode[];
  /** The tools of all nodes that can be reached, in the order of the graph. */
  readonly tools: readonly AuditedTool[];
  /** The node types that do not declare what they do: the worst is assumed. */
  readonly undeclaredTypes: readonly string[];
}

/** Audits a graph document by a search of all walks, without running it. @throws TypeError for one that has faults. */
export async function auditDocument(
  document: GraphDocument,
  registry: Registry,
  strings: EffectsContext['strings'],
): Promise<GraphAudit> {
  const graph = await readAuditedGraph(document, registry, strings);
  const nodes = [...graph.nodes.values()];
  const reached = reachedNodes(graph);
  const findGuards = guardFinder(graph);
  return {
    start: graph.start,
    nodes: nodes.length,
    properties: {
      message: proveMessageGuarded(graph),
      answer: proveAnswerGuarded(graph),
      bounded: proveLoopsBounded(graph),
      reachable: proveNodesReachable(graph),
    },
    models: reached
      .filter(({ effects }) => effects.infers)
      .map(({ name, type }) => ({ node: name, type, ...findGuards(name) })),
    tools: reached.flatMap((node) =>
      callableTools(graph, node).map((tool) => ({ node: node.name, tool, ...findGuards(node.name) })),
    ),
    undeclaredTypes: [...new Set(nodes.filter(({ isDeclared }) => !isDeclared).map(({ type }) => type))],
  };
}

/** Whether every loop ends before the step budget: there is none without an exit that is limited in a turn. */
function proveLoopsBounded(graph: AuditedGraph): PropertyVerdict {
  const path = shortestLoop(graph, (node, exit) => !node.effects.limitedExits.includes(exit));
  if (!path) {
    const reason = 'every loop passes an exit that its node takes only a limited number of times in a turn';
    return { proven: true, reason: shortestLoop(graph, () => true) ? reason : 'there is no loop' };
  }
  const last = path.at(-1)?.node ?? '';
  const nodes = [...new Set(path.slice(path.findIndex(({ node }) => node === last)).map(({ node }) => node))];
  return {
    proven: false,
    reason: `the loop through ${joinNames(nodes)} has no limit but the step budget (max_steps_per_turn), and a turn that uses it up fails`,
    fix: 'write the second try as nodes of its own, or let the loop pass tool_called of a ToolCall, which max_rounds limits',
    path,
    nodes,
  };
}

type IsOpen = (node: AuditedNode, exit: string) => boolean;

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
    const node = nodeOf(graph, name);
    const exit = node.exits.find((each) => isOpen(node, each) && node.targets.get(each) === start);
    if (exit !== undefined) return [...path, { node: name, exit }];
  }
  return undefined;
}

/** Whether every node can be reached from the start, by exits that nodes take with their parameters. */
function proveNodesReachable(graph: AuditedGraph): PropertyVerdict {
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
  const subject = nodes.length === 1 ? `${nodes[0]} is` : `${joinNames(nodes)} are`;
  return {
    proven: false,
    reason: [`${subject} reached by no path from the start`, ...notes].join('; '),
    fix: `lead an exit to ${nodes.length === 1 ? 'it' : 'them'}, or remove ${nodes.length === 1 ? 'it' : 'them'}`,
    path: [],
    nodes,
  };
}

export interface GuardedNode {
  readonly node: string;
  /** The Guardrails that every path to the node passes; or else those of which every path passes one. */
  readonly guards: readonly { readonly node: string; readonly watch: WatchedText }[];
  /** Whether every path passes all of these Guardrails, or only one of them. */
  readonly passes: 'all' | 'one';
}

/** A node that may run a model, and what guards it. */
export interface AuditedModelNode extends GuardedNode {
  readonly type: string;
}

/** A tool that can be called, the node that offers it, and what guards that. */
export interface AuditedTool extends GuardedNode {
  /** undefined: the node may record calls, and does not declare which. */
  readonly tool: CallableTool | undefined;
}

/** The tools of a node; undefined stands for those of a node that does not declare which it has. */
function callableTools(graph: AuditedGraph, node: AuditedNode): readonly (CallableTool | undefined)[] {
  const { tools } = node.effects;
  if (!tools) return [undefined];
  return tools.filter(({ onlyAfterResult }) => !onlyAfterResult || canBeVisitedAgain(graph, node));
}

function canBeVisitedAgain(graph: AuditedGraph, { name, exits, targets }: AuditedNode): boolean {
  const next = exits.flatMap((exit) => targets.get(exit) ?? []);
  return next.some((target) => reachableNodes(graph, undefined, target).has(name));
}

type FindGuards = (name: string) => Omit<GuardedNode, 'node'>;

/** Prepares the search for the Guardrails before a node: which nodes can be reached past each of them is found out once. */
function guardFinder(graph: AuditedGraph): FindGuards {
  const guards = [...graph.nodes.values()].filter(({ effects }) => (effects.guards?.patterns ?? 0) > 0);
  const past = guards.map((guard) => ({
    guard,
    reached: reachableNodes(graph, (from, exit) => from !== guard || !lets(from, exit)),
  }));
  // Each path passes one of those that can be the first on it.
  const pastAll = reachableNodes(graph, (from, exit) => !lets(from, exit));
  const behind = guards
    .filter(({ name }) => pastAll.has(name))
    .map((guard) => {
      const target = guard.targets.get(guard.effects.guards?.exit ?? '');
      return { guard, reached: target === undefined ? new Map() : reachableNodes(graph, undefined, target) };
    });
  return (name) => {
    const onAll = past.filter(({ reached }) => !reached.has(name));
    if (onAll.length > 0) return { guards: onAll.map(toNodeGuard), passes: 'all' };
    if (pastAll.has(name)) return { guards: [], passes: 'all' };
    return { guards: behind.filter(({ reached }) => reached.has(name)).map(toNodeGuard), passes: 'one' };
  };
}

const lets = (node: AuditedNode, exit: string): boolean =>
  isGuarded(node, exit, 'message') || isGuarded(node, exit, 'answer');

const toNodeGuard = ({ guard: { name, effects } }: { readonly guard: AuditedNode }) => ({
  node: name,
  watch: effects.guards?.watch ?? 'message',
});
