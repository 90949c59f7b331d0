import { defaultServerOptions, limitsOf } from '../../server/config.ts';
import type { GraphDocument } from '../../graph/compile/document.ts';
import type { FactsContext } from '../../graph/compile/node.ts';
import type { NodeFacts } from '../../graph/compile/nodeFacts.ts';
import type { RegisteredType, Registry } from '../../graph/compile/registry.ts';
import { completeFacts, type AuditedFacts } from './completeFacts.ts';

/** A node as the audit sees it. */
export interface AuditedNode {
  readonly name: string;
  readonly type: string;
  /** The exits that it may take. */
  readonly exits: readonly string[];
  /** The exits that it never takes with its parameters. */
  readonly unusedExits: readonly string[];
  /** Target of each exit; an exit without one ends the turn. */
  readonly targets: ReadonlyMap<string, string>;
  readonly facts: AuditedFacts;
  /** Whether its type declares facts. */
  readonly isDeclared: boolean;
  /** Whether its type has the parameter `hold`. */
  readonly canHold: boolean;
}

/** A graph without faults, as the audit sees it. */
export interface AuditedGraph {
  readonly start: string;
  readonly nodes: ReadonlyMap<string, AuditedNode>;
}

/**
 * Finds out the facts of the nodes of a graph without faults.
 * @throws TypeError for a graph that has faults, and for a mistake in what a node type declares.
 */
export async function readAuditedGraph(
  { start_node: start, nodes }: GraphDocument,
  registry: Registry,
  strings: FactsContext['strings'],
): Promise<AuditedGraph> {
  const limits = limitsOf(defaultServerOptions());
  const audited = new Map<string, AuditedNode>();
  for (const [name, node] of Object.entries(nodes)) {
    const type = registry.get(node.type);
    const reading = type?.read(node.params);
    if (!type || !reading?.ok) throw new TypeError(`node ${name} has faults`);
    const context = { nodeName: name, limits, strings, warn: () => undefined };
    const facts = await type.facts(reading.value, context);
    audited.set(name, toAuditedNode({ name, type, params: reading.value, targets: node.exits, facts }));
  }
  return { start, nodes: audited };
}

function toAuditedNode({
  name,
  type,
  params,
  targets,
  facts,
}: {
  readonly name: string;
  readonly type: RegisteredType;
  readonly params: object;
  readonly targets: Readonly<Record<string, string>>;
  readonly facts: NodeFacts | undefined;
}): AuditedNode {
  const allExits = type.exits(params);
  const unused = new Set([...(type.output(params)?.unusedExits ?? []), ...(facts?.unusedExits ?? [])]);
  return {
    name,
    type: type.type,
    exits: allExits.filter((exit) => !unused.has(exit)),
    unusedExits: allExits.filter((exit) => unused.has(exit)),
    targets: new Map(Object.entries(targets).filter(([, target]) => target !== '')),
    facts: completeFacts(type.type, facts, allExits),
    isDeclared: facts !== undefined,
    canHold: Object.hasOwn(type.params.properties, 'hold'),
  };
}

/** Whether a node may record calls, or insights, which lines can show. */
export const recordsCalls = ({ facts }: AuditedNode): boolean => facts.tools === undefined || facts.tools.length > 0;

/** The node of an exit; undefined: the exit ends the turn. @throws TypeError for a graph that has faults. */
export function targetOf(graph: AuditedGraph, { targets }: AuditedNode, exit: string): AuditedNode | undefined {
  const target = targets.get(exit);
  return target === undefined ? undefined : nodeOf(graph, target);
}

/** The node with a name. @throws TypeError for a graph that has faults. */
export function nodeOf({ nodes }: AuditedGraph, name: string): AuditedNode {
  const node = nodes.get(name);
  if (!node) throw new TypeError(`there is no node ${name}`);
  return node;
}
