import type { AuditedGraph } from './auditedGraph.ts';
import { isGuarded, whyUnguarded } from './guards.ts';
import type { PropertyVerdict } from './property.ts';
import { reachableNodes, shortestOffence } from './walk.ts';

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
  if (!walk) return { proven: true, reason: whyProven(graph) };
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

function whyProven(graph: AuditedGraph): string {
  const nodes = [...reachableNodes(graph).keys()].flatMap((name) => graph.nodes.get(name) ?? []);
  return nodes.some(({ effects }) => effects.infers)
    ? 'every path to a node that runs a model passes a Guardrail on the message'
    : 'no node runs a model';
}
