import type { NodeOutput } from './node.ts';

/** Edges of a graph by node: the exits of its type, and the target of each; an exit that ends the turn has no target. */
export type Edges = ReadonlyMap<
  string,
  {
    readonly type: string;
    readonly exits: readonly string[];
    readonly targets: ReadonlyMap<string, string>;
    /** undefined: not known. */
    readonly output: NodeOutput | undefined;
  }
>;

/**
 * Graph linter: yields a warning for each thing that is valid but probably a mistake (unreachable nodes, endless loops,
 * turns without a word, answers that are checked after they were sent).
 */
export function* lintGraph(start: string, edges: Edges): Generator<string> {
  const reached = reachable(start, edges);
  for (const name of edges.keys()) if (!reached.has(name)) yield `${name} is unreachable: no exit leads to it`;
  const ending = nodesThatCanEnd(edges);
  const endless = [...reached].filter((name) => !ending.has(name));
  if (endless.length > 0) {
    yield `${endless.join(', ')}: no exit ends the turn from there; only the step budget will (max_steps_per_turn)`;
  }
  for (const [name, { type, exits, targets }] of edges) {
    const [target, ...others] = new Set(exits.map((exit) => targets.get(exit)));
    if (target !== undefined && exits.length > 1 && others.length === 0) {
      yield `${name}.exits all lead to "${target}": what this ${type} finds out changes nothing`;
    }
  }
  yield* silentTurns(start, edges);
  for (const name of reached) yield* lateChecks(name, edges);
}

/** Exits of ToolCalls by which a turn can end although the client got nothing. */
function* silentTurns(start: string, edges: Edges): Generator<string> {
  const silentTargets = (name: string): readonly (string | undefined)[] => {
    const edge = edges.get(name);
    return edge?.output?.silentExits.map((exit) => edge.targets.get(exit)) ?? [];
  };
  const canEndSilently = (name: string | undefined): boolean =>
    name === undefined || [...follow([name], silentTargets)].some((node) => silentTargets(node).includes(undefined));
  for (const name of follow([start], silentTargets)) {
    const { exits = [], targets, output } = edges.get(name) ?? {};
    // A node all of whose exits are silent only routes: it is not the one that should have answered.
    if (!output || output.silentExits.length === exits.length) continue;
    for (const exit of output.silentExits.filter((silent) => canEndSilently(targets?.get(silent)))) {
      yield `${name}.exits.${exit} can end a turn in which the client gets neither a text nor a call; lead it to a node that answers`;
    }
  }
}

/** Nodes whose text was sent before another node checks the answer and a further one adds to it. */
function* lateChecks(checker: string, edges: Edges): Generator<string> {
  const { output, targets } = edges.get(checker) ?? {};
  const replacement = output?.answerExit === undefined ? undefined : targets?.get(output.answerExit);
  if (replacement === undefined) return;
  const added = [...reachable(replacement, edges)].find((name) => edges.get(name)?.output?.text !== undefined);
  if (added === undefined) return;
  const leadsTo = (target: string): readonly string[] =>
    [...edges].filter(([, { targets: next }]) => [...next.values()].includes(target)).map(([name]) => name);
  for (const name of follow(leadsTo(checker), leadsTo)) {
    if (edges.get(name)?.output?.text === 'sent')
      yield `${checker} checks the answer of ${name} after it was sent: the client gets it, and the text of ${added} as well; set ${name}.params.hold`;
  }
}

const reachable = (start: string, edges: Edges): ReadonlySet<string> =>
  follow([start], (name) => [...(edges.get(name)?.targets.values() ?? [])]);

/** All nodes to which some nodes lead, and these themselves. */
function follow(
  starts: readonly string[],
  targetsOf: (name: string) => readonly (string | undefined)[],
): ReadonlySet<string> {
  const found = new Set<string>();
  const pending: (string | undefined)[] = [...starts];
  while (pending.length > 0) {
    const name = pending.pop();
    if (name === undefined || found.has(name)) continue;
    found.add(name);
    pending.push(...targetsOf(name));
  }
  return found;
}

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
