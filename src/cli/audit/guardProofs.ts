import { type AuditedGraph, type AuditedNode, nodeOf, recordsCalls } from './auditedGraph.ts';
import type { WatchedText } from '../../graph/compile/node.ts';

/** Whether every path to a node with a model passes a Guardrail on the message, which stays the same in a turn. */
export function proveMessageGuarded(graph: AuditedGraph): PropertyVerdict {
  const unguarded = reachableNodes(graph, (node, exit) => !isGuarded(node, exit, 'message'));
  const offence = [...unguarded].find(([name]) => nodeOf(graph, name).effects.infers);
  if (!offence) {
    const runsModel = reachedNodes(graph).some(({ effects }) => effects.infers);
    const reason = 'every path to a node that runs a model passes a Guardrail on the message';
    return { proven: true, reason: runsModel ? reason : 'no node runs a model' };
  }
  const [name, before] = offence;
  const path = [...before, { node: name }];
  const { isDeclared } = nodeOf(graph, name);
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

/** A node on a walk, and what of the walk's past matters. */
interface AnswerVisit {
  readonly node: AuditedNode;
  /** Whether a text of a model is held back that no Guardrail has let pass. */
  readonly isUnguarded: boolean;
  /** Whether the turn may have calls or insights, which lines can show. */
  readonly hasCalls: boolean;
  readonly before: readonly AuditStep[];
}

/**
 * Whether every text of a model passes, before it reaches the client, a Guardrail on the held answer. There is at most one
 * held answer: a node may replace it by another text of a model, which no Guardrail has seen yet, or discard it.
 * The walks are searched by breadth: the first that is wrong is a shortest one.
 */
export function proveAnswerGuarded(graph: AuditedGraph): PropertyVerdict {
  const seen = new Set<string>();
  const start = nodeOf(graph, graph.start);
  const queue: AnswerVisit[] = [{ node: start, isUnguarded: false, hasCalls: false, before: [] }];
  // The queue grows while it is read; each node is visited once with the same past, so the search ends.
  for (const { node, before, ...past } of queue) {
    const key = JSON.stringify([node.name, past]);
    if (seen.has(key)) continue;
    seen.add(key);
    const { exits, effects } = node;
    const path = [...before, { node: node.name }];
    if (exits.length > 0 && exits.every((exit) => effects.sends.includes(exit))) return explainSent(node, path);
    if (effects.showsCalls && past.hasCalls) return explainShown(graph, node, path);
    for (const exit of exits) {
      const taken = [...before, { node: node.name, exit }];
      const target = node.targets.get(exit);
      if (effects.sends.includes(exit))
        return explainSent(node, target === undefined ? taken : [...taken, { node: target }]);
      const isHeld = effects.held === 'replaced' || (effects.held === 'kept' && past.isUnguarded);
      const isUnguarded = isHeld && !isGuarded(node, exit, 'answer');
      const hasCalls = past.hasCalls || recordsCalls(node);
      if (target !== undefined) queue.push({ node: nodeOf(graph, target), isUnguarded, hasCalls, before: taken });
      else if (isUnguarded) return explainHeld(graph, taken);
    }
  }
  const [shown] = findShownFields(graph).toSorted((one, other) => one.path.length - other.path.length);
  if (shown) return shown;
  const holdsText = reachedNodes(graph).some(({ effects }) => effects.held === 'replaced');
  const reason = 'every text of a model is held back, and passes a Guardrail on the answer or is replaced';
  return { proven: true, reason: holdsText ? reason : 'no text of a model is an answer' };
}

type Refutation = Extract<PropertyVerdict, { proven: false }>;

/** A node sends a text at once. */
function explainSent({ name, type, isDeclared, canHold }: AuditedNode, path: readonly AuditStep[]): Refutation {
  const refuted = { proven: false, path, nodes: [name] } as const;
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

/** A node sends a line that shows calls. */
function explainShown(graph: AuditedGraph, { name }: AuditedNode, path: readonly AuditStep[]): Refutation {
  const source = path.find(({ node }) => recordsCalls(nodeOf(graph, node)))?.node ?? '';
  const reason = `${name} sends a line that may show what a model wrote in a call of ${source}`;
  const fix = `leave names and arguments of calls out of the lines of ${name}`;
  return { proven: false, path, nodes: [name], reason, fix };
}

/** The lines that show a field of text of an answer before them. */
const findShownFields = (graph: AuditedGraph): readonly Refutation[] =>
  [...reachableNodes(graph)].flatMap(([source, before]) => {
    const { textFields = [] } = nodeOf(graph, source).effects;
    if (textFields.length === 0) return [];
    return [...reachableNodes(graph, undefined, source)].flatMap(([name, after]) => {
      const { showsFields = [] } = nodeOf(graph, name).effects;
      const field = textFields.find((each) => showsFields.includes(each) || showsFields.includes(''));
      if (field === undefined) return [];
      const reason = `${name} sends a line that may show what a model wrote in the field "${field}" of ${source}`;
      const fix = `leave the field "${field}" out of the lines of ${name}`;
      return [{ proven: false, path: [...before, ...after, { node: name }], nodes: [name], reason, fix }];
    });
  });

/** A text is held back until the turn ends. */
function explainHeld(graph: AuditedGraph, path: readonly AuditStep[]): Refutation {
  const index = path.findLastIndex(({ node }) => nodeOf(graph, node).effects.held === 'replaced');
  const name = path[index]?.node ?? '';
  const early = path.slice(0, index).filter((step) => isGuarded(nodeOf(graph, step.node), step.exit ?? '', 'answer'));
  const notes = whyUnguarded(graph, [...early, ...path.slice(index)], 'answer');
  const reason = `what ${name} holds back is sent at the end of the turn, and no Guardrail has let it pass`;
  const fix = `lead this path from ${name} through a Guardrail with "watch": "answer" and patterns, by its exit not_triggered, or to a CannedResponse, which replaces the answer`;
  return { proven: false, reason: [reason, ...notes].join('; '), fix, path, nodes: [name] };
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
export function joinNames(names: readonly string[]): string {
  const last = names.at(-1) ?? '';
  return names.length < 2 ? last : `${names.slice(0, -1).join(', ')} and ${last}`;
}
