import type { GraphFile } from '../document/graphDocument.ts';
import type { GraphTypes } from '../document/graphTypes.ts';

/** Whether a graph leaves the model of some of its nodes to the client: neither they nor the graph name one. */
export function needsDefaultModel(graph: GraphFile | undefined, { types }: GraphTypes): boolean {
  if (!graph || graph.default_model_name) return false;
  return Object.values(graph.nodes).some(
    ({ type, params }) => types.get(type)?.params.properties?.['model_name'] && !params?.['model_name'],
  );
}
