import type { WatchedText } from '../../graph/compile/node.ts';
import { nodeOf, type AuditedGraph, type AuditedNode } from './auditedGraph.ts';
import type { AuditStep } from './walk.ts';

/** Whether a node guards a text, if it is left by an exit. A Guardrail without patterns lets every text pass: it guards nothing. */
export function isGuarded({ effects: { guards } }: AuditedNode, exit: string, watch: WatchedText): boolean {
  return guards?.watch === watch && guards.exit === exit && guards.patterns > 0;
}

/** Why the Guardrails on a path do not guard a text, a sentence each. */
export function whyUnguarded(graph: AuditedGraph, path: readonly AuditStep[], watch: WatchedText): readonly string[] {
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
