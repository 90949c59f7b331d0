import { follow, sourcesIn, targetsIn, type Edges, type NodeEdges } from './edges.ts';
import { lintSelections } from './lintSelections.ts';

/**
 * Graph linter: yields a warning for each thing that is valid but probably a mistake (unreachable nodes, endless loops,
 * turns without a word, answers that are checked after they were sent, or held and not checked, tools that are never selected).
 */
export function* lintGraph(start: string, allEdges: Edges): Generator<string> {
  const reached = reachable(start, allEdges);
  for (const name of allEdges.keys()) if (!reached.has(name)) yield `${name} is unreachable: no exit leads to it`;
  const edges: Edges = new Map([...allEdges].map(([name, edge]) => [name, withoutUnusedExits(edge)]));
  const ending = nodesThatCanEnd(edges);
  const endless = [...reached].filter((name) => !ending.has(name));
  if (endless.length > 0) {
    yield `${endless.join(', ')}: no exit ends the turn from there; only the step budget will (max_steps_per_turn)`;
  }
  for (const [name, { type, exits, targets, output }] of edges) {
    if (output?.informsLaterNodes) continue;
    const [target, ...others] = new Set(exits.map((exit) => targets.get(exit)));
    if (target !== undefined && exits.length > 1 && others.length === 0) {
      yield `${name}.exits all lead to "${target}": what this ${type} finds out changes nothing`;
    }
  }
  yield* silentTurns(start, edges);
  for (const name of reached) yield* lateChecks(name, edges);
  for (const name of reached) yield* uncheckedHolds(name, edges);
  yield* lintSelections(reached, edges);
}

function withoutUnusedExits(edge: NodeEdges): NodeEdges {
  const unused = edge.output?.unusedExits ?? [];
  const isUsed = (exit: string): boolean => !unused.includes(exit);
  const targets = new Map([...edge.targets].filter(([exit]) => isUsed(exit)));
  const output = edge.output && { ...edge.output, silentExits: edge.output.silentExits.filter(isUsed) };
  return { ...edge, exits: edge.exits.filter(isUsed), targets, output };
}

/** Whether the client gets nothing of a node, by whichever exit. */
const onlyRoutes = ({ output, exits }: NodeEdges): boolean =>
  output !== undefined && output.text === undefined && exits.every((exit) => output.silentExits.includes(exit));

/** Exits by which a turn can end although the client got nothing. */
function* silentTurns(start: string, edges: Edges): Generator<string> {
  const silentTargets = (name: string): readonly (string | undefined)[] => {
    const edge = edges.get(name);
    return edge?.output?.silentExits.map((exit) => edge.targets.get(exit)) ?? [];
  };
  const canEndSilently = (name: string | undefined): boolean =>
    name === undefined || [...follow([name], silentTargets)].some((node) => silentTargets(node).includes(undefined));
  const isRouter = (name: string): boolean => {
    const edge = edges.get(name);
    return edge !== undefined && onlyRoutes(edge);
  };
  // Behind a node that could have answered, that one is named, not those that only route.
  const firstRouters = follow([start], (name) => (isRouter(name) ? silentTargets(name) : []));
  for (const name of follow([start], silentTargets)) {
    if (isRouter(name) && !firstRouters.has(name)) continue;
    const { targets, output } = edges.get(name) ?? {};
    const endsSilently = (exit: string): boolean =>
      isRouter(name) ? targets?.get(exit) === undefined : canEndSilently(targets?.get(exit));
    for (const exit of output?.silentExits.filter(endsSilently) ?? []) {
      yield `${name}.exits.${exit} can end a turn in which the client gets neither a text nor a call; lead it to a node that answers`;
    }
  }
}

/** Nodes whose text was sent before another node checks the answer: what the check finds comes too late. */
function* lateChecks(checker: string, edges: Edges): Generator<string> {
  const { output, targets } = edges.get(checker) ?? {};
  const exit = output?.answerExit;
  if (exit === undefined) return;
  const followers = follow([targets?.get(exit)], targetsIn(edges));
  const followingEdges = [...followers].flatMap((name) => edges.get(name) ?? []);
  const added = [...followers].find((name) => edges.get(name)?.output?.text !== undefined);
  // A check may also decide whether a call is to be detected.
  if (added === undefined && !followingEdges.every(onlyRoutes)) return;
  const leadsTo = sourcesIn(edges);
  for (const name of follow(leadsTo(checker), leadsTo)) {
    const { output: checked, canHold = false } = edges.get(name) ?? {};
    if (checked?.text !== 'sent') continue;
    const what = `${checker} checks the answer of ${name} after it was sent`;
    const fix = canHold ? `set ${name}.params.hold` : `let a node with "hold" answer instead of ${name}`;
    if (added !== undefined) yield `${what}: the client gets it, and the text of ${added} as well; ${fix}`;
    else
      yield `${what}: the client keeps it, whatever is found; ${fix}, and lead ${checker}.exits.${exit} to what replaces it`;
  }
}

/** Nodes that hold an answer back although no node checks it. */
function* uncheckedHolds(name: string, edges: Edges): Generator<string> {
  const { output, targets } = edges.get(name) ?? {};
  if (output?.text !== 'held') return;
  const followers = follow([...(targets?.values() ?? [])], targetsIn(edges));
  const mayCheck = (node: string): boolean => {
    const { output: next } = edges.get(node) ?? {};
    return next === undefined || next.answerExit !== undefined;
  };
  if ([...followers].some(mayCheck)) return;
  yield `${name} holds its answer back, and no Guardrail checks it: the client only gets it later; remove ${name}.params.hold, or let a Guardrail with "watch": "answer" follow`;
}

const reachable = (start: string, edges: Edges): ReadonlySet<string> => follow([start], targetsIn(edges));

// Fixed point: nodes with an exit that ends the turn, or leads to such a node.
function nodesThatCanEnd(edges: Edges): ReadonlySet<string> {
  const ending = new Set<string>();
  for (let previousSize = -1; previousSize < ending.size;) {
    previousSize = ending.size;
    for (const [name, { exits, targets }] of edges) {
      const ends = exits.some((exit) => {
        const target = targets.get(exit);
        return target === undefined || ending.has(target);
      });
      if (ends) ending.add(name);
    }
  }
  return ending;
}
