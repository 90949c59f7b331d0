import type { CallableTool, WatchedText } from '../../graph/compile/node.ts';
import type { AuditedGraph, AuditedNode } from './auditedGraph.ts';
import { isGuarded, reachableNodes, reachedNodes } from './guardProofs.ts';

export interface NodeGuard {
  readonly node: string;
  readonly watch: WatchedText;
}

export interface GuardedNode {
  readonly node: string;
  /** The Guardrails that every path to the node passes; or else those of which every path passes one. */
  readonly guards: readonly NodeGuard[];
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

/** The nodes that may run a model, of those that can be reached. */
export function findModelNodes(graph: AuditedGraph, findGuards: FindGuards): readonly AuditedModelNode[] {
  const nodes = reachedNodes(graph).filter(({ effects }) => effects.infers);
  return nodes.map(({ name, type }) => ({ node: name, type, ...findGuards(name) }));
}

/** The tools of all nodes that can be reached, in the order of the graph. */
export function findTools(graph: AuditedGraph, findGuards: FindGuards): readonly AuditedTool[] {
  return reachedNodes(graph).flatMap((node) => {
    const tools = callableTools(graph, node);
    const guarding = findGuards(node.name);
    return tools.map((tool) => ({ node: node.name, tool, ...guarding }));
  });
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
export function guardFinder(graph: AuditedGraph): FindGuards {
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

const toNodeGuard = ({ guard: { name, effects } }: { readonly guard: AuditedNode }): NodeGuard => ({
  node: name,
  watch: effects.guards?.watch ?? 'message',
});
