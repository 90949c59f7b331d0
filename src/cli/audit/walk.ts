import { type AuditedGraph, type AuditedNode, nodeOf, targetOf } from './auditedGraph.ts';

/** One step of a path through a graph. */
export interface AuditStep {
  readonly node: string;
  /** The exit that the path takes; absent at its last node, unless the turn ends by it. */
  readonly exit?: string;
}

/** What a walk through a graph is judged by; `State` is what of its past matters. */
export interface WalkRules<State, Offence> {
  /** The state before the start node. */
  readonly initial: State;
  /** What is wrong when a node runs; undefined: nothing. */
  enter(node: AuditedNode, state: State): Offence | undefined;
  /** The state after an exit, or what is wrong then. `target` is undefined where the turn ends. */
  leave(visit: LeavingVisit<State>): { readonly state: State } | { readonly offence: Offence };
}

/** A node that a walk leaves. */
export interface LeavingVisit<State> {
  readonly node: AuditedNode;
  readonly exit: string;
  readonly target: AuditedNode | undefined;
  readonly state: State;
}

/** A shortest walk that is wrong. */
export interface OffendingWalk<Offence> {
  readonly path: readonly AuditStep[];
  readonly offence: Offence;
}

interface Visit<State> {
  readonly node: AuditedNode;
  readonly state: State;
  /** The visit before it, and the exit from there. */
  readonly from?: { readonly visit: Visit<State>; readonly exit: string };
}

/**
 * Searches all walks through a graph, by breadth, for a wrong one. There are infinitely many, but from one node in one
 * state all go on alike: so each pair of node and state is visited once.
 */
export function shortestOffence<State, Offence>(
  graph: AuditedGraph,
  { initial, enter, leave }: WalkRules<State, Offence>,
): OffendingWalk<Offence> | undefined {
  const seen = new Set<string>();
  const queue: Visit<State>[] = [];
  const add = (visit: Visit<State>): void => {
    const key = JSON.stringify([visit.node.name, visit.state]);
    if (seen.has(key)) return;
    seen.add(key);
    queue.push(visit);
  };
  add({ node: nodeOf(graph, graph.start), state: initial });
  // The queue grows while it is read.
  for (const visit of queue) {
    const { node, state } = visit;
    const offence = enter(node, state);
    if (offence !== undefined) return { path: [...stepsBefore(visit), { node: node.name }], offence };
    for (const exit of node.exits) {
      const target = targetOf(graph, node, exit);
      const left = leave({ node, exit, target, state });
      const taken = { node: node.name, exit };
      const next = target ? [{ node: target.name }] : [];
      if ('offence' in left) return { path: [...stepsBefore(visit), taken, ...next], offence: left.offence };
      if (target) add({ node: target, state: left.state, from: { visit, exit } });
    }
  }
  return undefined;
}

function stepsBefore<State>({ from }: Visit<State>): readonly AuditStep[] {
  const steps: AuditStep[] = [];
  for (let step = from; step; step = step.visit.from) steps.push({ node: step.visit.node.name, exit: step.exit });
  return steps.reverse();
}

/** The nodes that some exits lead to, from the start node on, with the number of steps to each; nearest first. */
export function reachableNodes(
  graph: AuditedGraph,
  isOpen: (node: AuditedNode, exit: string) => boolean = () => true,
  start = graph.start,
): ReadonlyMap<string, readonly AuditStep[]> {
  const paths = new Map<string, readonly AuditStep[]>([[start, []]]);
  for (const [name, path] of paths) {
    const node = nodeOf(graph, name);
    for (const exit of node.exits) {
      const target = node.targets.get(exit);
      if (target === undefined || paths.has(target) || !isOpen(node, exit)) continue;
      paths.set(target, [...path, { node: name, exit }]);
    }
  }
  return paths;
}

/** The nodes that can be reached from the start, in the order of the graph. */
export function reachedNodes(graph: AuditedGraph): readonly AuditedNode[] {
  const reached = reachableNodes(graph);
  return [...graph.nodes.values()].filter(({ name }) => reached.has(name));
}

/** The properties that the audit proves or refutes, in the order of the report. */
export const auditProperties = ['message', 'answer', 'bounded', 'reachable'] as const;

/** The name of a property of a graph. */
export type AuditProperty = (typeof auditProperties)[number];

/** Whether a property holds, and why. */
export type PropertyVerdict =
  | { readonly proven: true; readonly reason: string }
  | {
      readonly proven: false;
      readonly reason: string;
      /** What to change. */
      readonly fix: string;
      /** The shortest path on which it does not hold; [] where no path shows it. */
      readonly path: readonly AuditStep[];
      /** The nodes that it is about. */
      readonly nodes: readonly string[];
    };

/** A path as text: `guard -[triggered]-> refuse`. */
export const formatPath = (path: readonly AuditStep[]): string =>
  path
    .map(({ node, exit }, index) => {
      if (exit === undefined) return node;
      return `${node} -[${exit}]-> ${index === path.length - 1 ? '(end of the turn)' : ''}`;
    })
    .join('');

/** Names in a sentence: `a`, `a and b`, `a, b and c`. */
export function listNames(names: readonly string[]): string {
  const last = names.at(-1) ?? '';
  return names.length < 2 ? last : `${names.slice(0, -1).join(', ')} and ${last}`;
}
