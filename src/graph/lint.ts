/** Edges of a graph by node: the exits of its type, and the target of each; an exit that ends the turn has no target. */
export type Edges = ReadonlyMap<
  string,
  { readonly type: string; readonly exits: readonly string[]; readonly targets: ReadonlyMap<string, string> }
>;

/** Graph linter: yields a warning for each thing that is valid but probably a mistake (unreachable nodes, endless loops). */
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
}

function reachable(start: string, edges: Edges): ReadonlySet<string> {
  const reached = new Set<string>();
  const pending = [start];
  for (let name = pending.pop(); name !== undefined; name = pending.pop()) {
    const edge = edges.get(name);
    if (!edge || reached.has(name)) continue;
    reached.add(name);
    pending.push(...edge.targets.values());
  }
  return reached;
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
