import { type AuditedGraph, type AuditedNode, nodeOf, recordsCalls } from './auditedGraph.ts';
import {
  type AuditStep,
  type LeavingVisit,
  type OffendingWalk,
  type PropertyVerdict,
  reachedNodes,
  shortestOffence,
} from './walk.ts';
import type { WatchedText } from '../../graph/compile/node.ts';

/**
 * Whether every path from the start to a node that runs a model passes a Guardrail on the message. The message stays the
 * same in a turn: once it has passed, all later nodes are guarded.
 */
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

/** What matters of the past of a turn. */
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

/** Why the Guardrails on a path do not guard a text, a sentence each. */
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
