import type { GraphDocument } from '../../graph/compile/document.ts';
import type { EffectsContext } from '../../graph/compile/node.ts';
import type { Registry } from '../../graph/compile/registry.ts';
import { proveAnswerGuarded, proveMessageGuarded } from './guardProofs.ts';
import { readAuditedGraph } from './auditedGraph.ts';
import { findModelNodes, findTools, guardFinder, type AuditedModelNode, type AuditedTool } from './guardedNodes.ts';
import { proveLoopsBounded, proveNodesReachable } from './reachability.ts';
import type { AuditProperty, PropertyVerdict } from './walk.ts';

/** What the audit of a graph has found. */
export interface GraphAudit {
  readonly start: string;
  readonly nodes: number;
  readonly properties: Readonly<Record<AuditProperty, PropertyVerdict>>;
  readonly models: readonly AuditedModelNode[];
  readonly tools: readonly AuditedTool[];
  /** The node types that do not declare what they do: the worst is assumed. */
  readonly undeclaredTypes: readonly string[];
}

/**
 * Audits a graph document without faults, by a search of all walks; it does not run the graph.
 * @throws TypeError for a document that has faults.
 */
export async function auditDocument(
  document: GraphDocument,
  registry: Registry,
  strings: EffectsContext['strings'],
): Promise<GraphAudit> {
  const graph = await readAuditedGraph(document, registry, strings);
  const nodes = [...graph.nodes.values()];
  const findGuards = guardFinder(graph);
  return {
    start: graph.start,
    nodes: nodes.length,
    properties: {
      message: proveMessageGuarded(graph),
      answer: proveAnswerGuarded(graph),
      bounded: proveLoopsBounded(graph),
      reachable: proveNodesReachable(graph),
    },
    models: findModelNodes(graph, findGuards),
    tools: findTools(graph, findGuards),
    undeclaredTypes: [...new Set(nodes.filter(({ isDeclared }) => !isDeclared).map(({ type }) => type))],
  };
}
