import { type AuditedGraph, type AuditedNode, nodeOf, recordsCalls, targetOf } from './auditedGraph.ts';
import type { WatchedText } from '../../graph/compile/node.ts';

/** Whether every path to a node with a model passes a Guardrail on the message, which stays the same in a turn. */
export function proveMessageGuarded(graph: AuditedGraph): PropertyVerdict {
  const walk = shortestOffence<boolean, string>(graph, {
    initial: false,
    enter: ({ name, effects }, isPassed) => (effects.infers && !isPassed ? name : undefined),
    leave: ({ node, exit, state }) => ({ state: state || isGuarded(node, exit, 'message') }),
  });
  if (!walk) return { proven: true, reason: whyMessageGuarded(graph) };
  const { path, offence: name } = walk;
  const isDeclared = graph.nodes.get(name)?.isDeclared ?? false;
  const runs = isDeclared ? 'runs a model' : 'may run a model, as its type does not declare that it runs none';
  const notes = whyUnguarded(graph, path, 'message');
  const guard = 'a Guardrail with "watch": "message" and patterns';
  return {
    proven: false,
    reason: [`${name} ${runs}, and no Guardrail has let the message pass before`, ...notes].join('; '),
    fix:
      path.length === 1
        ? `start with ${guard}, and lead its exit not_triggered to ${name}`
        : `lead this path to ${name} through ${guard}, by its exit not_triggered`,
    path,
    nodes: [name],
  };
}

function whyMessageGuarded(graph: AuditedGraph): string {
  return reachedNodes(graph).some(({ effects }) => effects.infers)
    ? 'every path to a node that runs a model passes a Guardrail on the message'
    : 'no node runs a model';
}

interface AnswerState {
  /** Whether a text of a model is held back that no Guardrail has let pass. */
  readonly isUnguarded: boolean;
  /** Whether the turn may have calls or insights, which lines can show. */
  readonly hasCalls: boolean;
}

/** How an unguarded text of a model reaches the client: at once, at the end of the turn, or in a line that shows calls. */
interface AnswerOffence {
  readonly how: 'sent' | 'held' | 'shown';
  /** The node after which it reaches the client. */
  readonly by: AuditedNode;
}

/**
 * Whether every text of a model passes, before it reaches the client, a Guardrail on the held answer. There is at most one
 * held answer: a node may replace it by another text of a model, which no Guardrail has seen yet, or discard it.
 */
export function proveAnswerGuarded(graph: AuditedGraph): PropertyVerdict {
  const walk = shortestOffence<AnswerState, AnswerOffence>(graph, {
    initial: { isUnguarded: false, hasCalls: false },
    enter: enterNode,
    leave: leaveNode,
  });
  return walk ? explain(graph, walk) : { proven: true, reason: whyAnswerGuarded(graph) };
}

function enterNode(node: AuditedNode, { hasCalls }: AnswerState): AnswerOffence | undefined {
  const { effects, exits } = node;
  if (exits.length > 0 && exits.every((exit) => effects.sends.includes(exit))) return { how: 'sent', by: node };
  return effects.showsCalls && hasCalls ? { how: 'shown', by: node } : undefined;
}

function leaveNode({
  node,
  exit,
  target,
  state,
}: LeavingVisit<AnswerState>): { readonly state: AnswerState } | { readonly offence: AnswerOffence } {
  const { effects } = node;
  if (effects.sends.includes(exit)) return { offence: { how: 'sent', by: node } };
  const isHeld = effects.held === 'replaced' || (effects.held === 'kept' && state.isUnguarded);
  const isUnguarded = isHeld && !isGuarded(node, exit, 'answer');
  if (isUnguarded && !target) return { offence: { how: 'held', by: node } };
  return { state: { isUnguarded, hasCalls: state.hasCalls || recordsCalls(node) } };
}

type Refutation = Extract<PropertyVerdict, { proven: false }>;

function explain(graph: AuditedGraph, { path, offence }: OffendingWalk<AnswerOffence>): Refutation {
  const { how, by } = offence;
  if (how === 'held') return explainHeld(graph, path);
  const { name, type, isDeclared, canHold } = by;
  const refuted = { proven: false, path, nodes: [name] } as const;
  if (how === 'shown') {
    const source = path.find(({ node }) => recordsCalls(nodeOf(graph, node)))?.node ?? '';
    const reason = `${name} sends a line that may show what a model wrote in a call of ${source}`;
    return { ...refuted, reason, fix: `leave names and arguments of calls out of the lines of ${name}` };
  }
  if (!isDeclared) {
    const reason = `${name} may send a text of a model to the client at once, as its type does not declare what it sends`;
    return { ...refuted, reason, fix: `declare the effects of the node type ${type}` };
  }
  const reason = `${name} sends a text of a model to the client at once: a Guardrail after it would be too late`;
  const fix = canHold
    ? `set ${name}.params.hold, and let a Guardrail with "watch": "answer" follow`
    : `let a node with "hold" answer instead of ${name}, and a Guardrail with "watch": "answer" follow`;
  return { ...refuted, reason, fix };
}

function explainHeld(graph: AuditedGraph, path: readonly AuditStep[]): Refutation {
  const index = path.findLastIndex(({ node }) => nodeOf(graph, node).effects.held === 'replaced');
  const name = path[index]?.node ?? '';
  const early = path.slice(0, index).filter((step) => isGuarded(nodeOf(graph, step.node), step.exit ?? '', 'answer'));
  const notes = whyUnguarded(graph, [...early, ...path.slice(index)], 'answer');
  const reason = `what ${name} holds back is sent at the end of the turn, and no Guardrail has let it pass`;
  const fix = `lead this path from ${name} through a Guardrail with "watch": "answer" and patterns, by its exit not_triggered, or to a CannedResponse, which replaces the answer`;
  return { proven: false, reason: [reason, ...notes].join('; '), fix, path, nodes: [name] };
}

function whyAnswerGuarded(graph: AuditedGraph): string {
  return reachedNodes(graph).some(({ effects }) => effects.held === 'replaced')
    ? 'every text of a model is held back, and passes a Guardrail on the answer or is replaced'
    : 'no text of a model is an answer';
}

/** Whether a node guards a text, if it is left by an exit. A Guardrail without patterns lets every text pass: it guards nothing. */
export function isGuarded({ effects: { guards } }: AuditedNode, exit: string, watch: WatchedText): boolean {
  return guards?.watch === watch && guards.exit === exit && guards.patterns > 0;
}

function whyUnguarded(graph: AuditedGraph, path: readonly AuditStep[], watch: WatchedText): readonly string[] {
  const sentences = path.flatMap(({ node: name, exit }) => {
    const { guards } = nodeOf(graph, name).effects;
    if (!guards || exit === undefined) return [];
    if (guards.patterns === 0) return [`${name} has no patterns and lets every text pass`];
    if (guards.watch !== watch) return [`${name} watches the ${guards.watch}`];
    if (guards.exit !== exit) return [`the path leaves ${name} by ${exit}`];
    return [`${name} comes too early: it watched another text`];
  });
  return [...new Set(sentences)];
}

export interface AuditStep {
  readonly node: string;
  /** The exit that the path takes; absent at its last node, unless the turn ends by it. */
  readonly exit?: string;
}

/** What a walk through a graph is judged by; `State` is what of its past matters. */
interface WalkRules<State, Offence> {
  /** The state before the start node. */
  readonly initial: State;
  /** What is wrong when a node runs; undefined: nothing. */
  enter(node: AuditedNode, state: State): Offence | undefined;
  /** The state after an exit, or what is wrong then. `target` is undefined where the turn ends. */
  leave(visit: LeavingVisit<State>): { readonly state: State } | { readonly offence: Offence };
}

interface LeavingVisit<State> {
  readonly node: AuditedNode;
  readonly exit: string;
  readonly target: AuditedNode | undefined;
  readonly state: State;
}

/** A shortest walk that is wrong. */
interface OffendingWalk<Offence> {
  readonly path: readonly AuditStep[];
  readonly offence: Offence;
}

interface Visit<State> {
  readonly node: AuditedNode;
  readonly state: State;
  /** The visit before it, and the exit from there. */
  readonly from?: { readonly visit: Visit<State>; readonly exit: string };
}

/** The shortest wrong walk, by breadth; each pair of node and state is visited once, so the search ends. */
function shortestOffence<State, Offence>(
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

export type AuditProperty = (typeof auditProperties)[number];

/** Whether a property holds, and why. */
export type PropertyVerdict =
  | { readonly proven: true; readonly reason: string }
  | {
      readonly proven: false;
      readonly reason: string;
      readonly fix: string;
      /** The shortest path on which it does not hold; [] where no path shows it. */
      readonly path: readonly AuditStep[];
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
