import type { GraphDocument } from '../graph/compile/document.ts';
import type { Registry } from '../graph/compile/registry.ts';

/** The nodes that lead to a node and find knowledge for its templates, by name. */
export interface KnowledgeFinders {
  /** Those that need no model, in the order of the graph. */
  readonly runnable: readonly string[];
  /** The others. */
  readonly withModel: readonly string[];
}

/** Finds the nodes whose knowledge a prompt may show. */
export function findKnowledgeFinders({ nodes }: GraphDocument, target: string, registry: Registry): KnowledgeFinders {
  const leading = new Set([target]);
  for (const reached of leading)
    for (const [name, { exits }] of Object.entries(nodes))
      if (Object.values(exits).includes(reached)) leading.add(name);
  const runnable: string[] = [];
  const withModel: string[] = [];
  for (const [nodeName, node] of Object.entries(nodes)) {
    const type = registry.get(node.type);
    const reading = type?.read(node.params);
    if (!leading.has(nodeName) || nodeName === target || !type || !reading?.ok) continue;
    if (type.knowledgeSource(reading.value, nodeName) === undefined) continue;
    (type.effects(reading.value)?.infers === false ? runnable : withModel).push(nodeName);
  }
  return { runnable, withModel };
}
