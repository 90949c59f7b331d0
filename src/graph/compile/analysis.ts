import type { NodePlan } from './createNodes.ts';
import type { NodeEffects } from './node.ts';

/** A node of a graph, as the warnings and the audit see it. */
export interface AnalysedNode {
  readonly name: string;
  readonly type: string;
  /** The exits that it may take. */
  readonly exits: readonly string[];
  /** The exits that it never takes with its parameters. */
  readonly unusedExits: readonly string[];
  /** Target of each exit; an exit without one ends the turn. */
  readonly targets: ReadonlyMap<string, string>;
  /** undefined: its type does not declare them. */
  readonly effects: NodeEffects | undefined;
  /** Whether its type has the parameter `hold`. */
  readonly canHold: boolean;
}

/** Analysed nodes by name. */
export type AnalysedNodes = ReadonlyMap<string, AnalysedNode>;

/** Finds out what a node with its parameters and effects can do. */
export function analyseNode(
  name: string,
  { type, params, targets }: Pick<NodePlan, 'type' | 'params' | 'targets'>,
  effects: NodeEffects | undefined,
): AnalysedNode {
  const exits = type.exits(params);
  const isUnused = (exit: string): boolean => effects?.unusedExits?.includes(exit) ?? false;
  return {
    name,
    type: type.type,
    exits: exits.filter((exit) => !isUnused(exit)),
    unusedExits: exits.filter(isUnused),
    targets,
    effects,
    canHold: Object.hasOwn(type.params.properties, 'hold'),
  };
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

/** The nodes that the exits of a node lead to, directly. */
export function targetsOf(node: AnalysedNode | undefined): readonly string[] {
  if (!node) return [];
  const { exits, targets } = node;
  return exits.flatMap((exit) => targets.get(exit) ?? []);
}

/** The nodes that lead to a node, directly. */
export function sourcesIn(nodes: AnalysedNodes): (target: string) => readonly string[] {
  const sources = new Map<string, Set<string>>();
  for (const [name, node] of nodes)
    for (const target of targetsOf(node)) sources.set(target, (sources.get(target) ?? new Set()).add(name));
  return (target) => [...(sources.get(target) ?? [])];
}
