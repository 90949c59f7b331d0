import type { Registry } from '../../graph/compile/registry.ts';
import { isObject } from '../../base/jsonTypes.ts';

/**
 * A graph whose nodes sample with the seed of a run, so that each run is another one and can be repeated: the first run
 * has the seed of the graph, or 1.
 * @param graph a document that may have errors.
 * @param run from 1.
 */
export function seededGraph(graph: unknown, registry: Registry, run: number): unknown {
  if (!isObject(graph) || !isObject(graph['nodes'])) return graph;
  const nodes = Object.entries(graph['nodes']).map(([name, node]) => [name, seededNode(node, registry, run)] as const);
  return { ...graph, nodes: Object.fromEntries(nodes) };
}

function seededNode(node: unknown, registry: Registry, run: number): unknown {
  if (!isObject(node)) return node;
  const { sampling } = registry.get(String(node['type']))?.params.properties ?? {};
  if (sampling?.properties?.['seed'] === undefined) return node;
  const { params = {} } = node;
  if (!isObject(params)) return node;
  const { sampling: own = {} } = params;
  if (!isObject(own)) return node;
  const seed = typeof own['seed'] === 'number' && own['seed'] > 0 ? own['seed'] + run - 1 : run;
  return { ...node, params: { ...params, sampling: { ...own, seed } } };
}
