import { defaultServerOptions } from '../../server/config.ts';
import { analyseNode, type AnalysedNode } from '../../graph/compile/analysis.ts';
import { checkDocument } from '../../graph/compile/compile.ts';
import type { GraphDocument } from '../../graph/compile/document.ts';
import type { EffectsContext, NodeEffects } from '../../graph/compile/node.ts';
import type { Registry } from '../../graph/compile/registry.ts';

/** A node as the audit sees it: what its type does not declare is the worst. */
export interface AuditedNode extends AnalysedNode {
  readonly effects: AuditedEffects;
  /** Whether its type declares effects. */
  readonly isDeclared: boolean;
}

/** A graph without faults, as the audit sees it. */
export interface AuditedGraph {
  readonly start: string;
  readonly nodes: ReadonlyMap<string, AuditedNode>;
}

/** The effects of the nodes of a graph. @throws TypeError for faults of the graph, or of what a type declares. */
export async function readAuditedGraph(
  graph: GraphDocument,
  registry: Registry,
  strings: EffectsContext['strings'],
): Promise<AuditedGraph> {
  const limits = defaultServerOptions();
  const audited = new Map<string, AuditedNode>();
  const names = Object.keys(graph.nodes);
  const { plans } = checkDocument(graph, names, registry);
  for (const name of names) {
    const plan = plans.get(name);
    if (!plan) throw new TypeError(`node ${name} has faults`);
    const { type, params, exits } = plan;
    const declared = type.effects(params, exits);
    const refined = await declared?.refine?.({ nodeName: name, limits, strings, warn: () => undefined });
    const effects = completeEffects(type.type, declared && { ...declared, ...refined }, exits);
    audited.set(name, { ...analyseNode(name, plan, effects), effects, isDeclared: declared !== undefined });
  }
  return { start: graph.start_node, nodes: audited };
}

/** Whether a node may record calls, or insights, which lines can show. */
export const recordsCalls = ({ effects }: AuditedNode): boolean =>
  effects.tools === undefined || effects.tools.length > 0;

/** The node with a name. @throws TypeError for a graph that has faults. */
export function nodeOf({ nodes }: AuditedGraph, name: string): AuditedNode {
  const node = nodes.get(name);
  if (!node) throw new TypeError(`there is no node ${name}`);
  return node;
}

/** Effects of a node without a gap: where its type does not declare one, it is the worst. */
type AuditedEffects = Required<
  Pick<NodeEffects, 'infers' | 'sends' | 'showsCalls' | 'held' | 'limitedExits' | 'unusedExits'>
> &
  Pick<NodeEffects, 'tools' | 'guards' | 'textFields' | 'showsFields'>;

const heldValues: readonly NodeEffects['held'][] = ['kept', 'discarded', 'replaced'];

/**
 * Completes the effects that a node type declares. A mistake in them would make a proof wrong, so it is an error: extensions
 * need not be TypeScript.
 * @param exits all exits of the node.
 * @throws TypeError that names the node type and the effect.
 */
function completeEffects(type: string, effects: NodeEffects | undefined, exits: readonly string[]): AuditedEffects {
  const { infers, sends, showsCalls, held, guards, limitedExits, unusedExits, silentExits } = effects ?? {};
  const fail = (effect: string, problem: string): never => {
    throw new TypeError(`effects.${effect} of the node type ${type} ${problem}`);
  };
  const named = { sends, limitedExits, unusedExits, silentExits, 'guards.exit': guards && [guards.exit] };
  for (const [effect, list] of Object.entries(named)) {
    const unknown = list?.find((exit) => !exits.includes(exit));
    if (unknown !== undefined) fail(effect, `names an exit that the node does not have: "${unknown}"`);
  }
  if (held !== undefined && !heldValues.includes(held)) fail('held', `must be one of ${heldValues.join(', ')}`);
  return {
    ...effects,
    infers: infers ?? true,
    sends: sends ?? exits,
    showsCalls: showsCalls ?? true,
    held: held ?? 'replaced',
    limitedExits: limitedExits ?? [],
    unusedExits: unusedExits ?? [],
  };
}
