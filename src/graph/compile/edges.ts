import type { NodeOutput } from './node.ts';

/** Edges of a graph by node: the exits of its type, and the target of each; an exit that ends the turn has no target. */
export type Edges = ReadonlyMap<string, NodeEdges>;

/** What the linter knows of one node. */
export interface NodeEdges {
  readonly type: string;
  readonly exits: readonly string[];
  readonly targets: ReadonlyMap<string, string>;
  /** undefined: not known. */
  readonly output: NodeOutput | undefined;
  /** Whether its type has the parameter `hold`. */
  readonly canHold: boolean;
}

/** All nodes to which some nodes lead, and these themselves. */
export function follow(
  starts: readonly (string | undefined)[],
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

/** The nodes that an exit of a node leads to, directly. */
export const targetsIn =
  (edges: Edges) =>
  (name: string): readonly string[] => [...(edges.get(name)?.targets.values() ?? [])];

/** The nodes that lead to a node, directly. */
export function sourcesIn(edges: Edges): (target: string) => readonly string[] {
  const sources = new Map<string, Set<string>>();
  for (const [name, { targets }] of edges)
    for (const target of targets.values()) sources.set(target, (sources.get(target) ?? new Set()).add(name));
  return (target) => [...(sources.get(target) ?? [])];
}
