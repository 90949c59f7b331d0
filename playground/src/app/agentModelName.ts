import type { GraphFile } from '../document/graphDocument.ts';
import { useTypes } from '../document/typesStore.ts';
import { useModels } from '../models/modelStore.ts';
import { preferredModel } from '../models/preferredModel.ts';
import { needsDefaultModel } from './needsDefaultModel.ts';
import { useSettings } from './settingsStore.ts';

/**
 * The default model to create an agent of a graph with: "" where the graph needs none, else the one that the user has chosen,
 * else the one that is proposed.
 */
export function agentModelName(graph: GraphFile | undefined): string {
  if (!needsDefaultModel(graph, useTypes.getState().types)) return '';
  return useSettings.getState().defaultModelName || (preferredModel(useModels.getState().models)?.name ?? '');
}
