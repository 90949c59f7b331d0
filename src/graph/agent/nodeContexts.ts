import { InvalidParams, type NodeContext, paramError, type RetrieverMatching } from '../compile/node.ts';
import { createRetriever, type Retriever } from '../retrieval/retriever.ts';
import type { StringStorage } from '../storage/stringStorage.ts';
import type { AgentModels } from './agentModels.ts';
import type { CompileOptions } from '../compile/compile.ts';
import type { SessionStorages } from '../storage/sessionStorages.ts';

/** What the nodes of an agent have access to. */
export interface NodeResources extends Pick<NodeContext, 'limits' | 'warn'> {
  readonly storages: SessionStorages;
  readonly models: AgentModels;
}

/** Gives the nodes of a graph their contexts. */
export const nodeContexts =
  ({ limits, warn, storages, models }: NodeResources): CompileOptions['contextFor'] =>
  (nodeName, graphDefault) => ({
    nodeName,
    warn,
    limits,
    strings: (nameOrPath) => storages.find(nameOrPath),
    checkModel: (name, purpose) => models.check(name, graphDefault, purpose),
    model: (name, purpose) => models.lease(name, graphDefault, purpose),
    retriever: (storage, matching) => openRetriever(storage, nodeName, matching, models),
  });

/**
 * Opens the search of a node over a storage.
 * @param name what messages call the storage.
 * @throws InvalidParams when it cannot match the entries so, the Fault of a model that cannot be loaded.
 */
async function openRetriever(
  storage: StringStorage,
  name: string,
  { match, embeddingModel, beforeLoad }: RetrieverMatching,
  models: AgentModels,
): Promise<Retriever> {
  if (match === 'words') return createRetriever(storage);
  const model = embeddingModel === '' ? (storage.knowledge?.embeddingModel ?? '') : embeddingModel;
  if (model === '') {
    const message = `is "${match}", and neither the node nor its storage names an embedding_model; name one, or match by "words"`;
    throw new InvalidParams([{ pointer: '/match', message }]);
  }
  try {
    models.check(model, '', 'embedding');
    await beforeLoad?.();
    return createRetriever(storage, await models.openVectors(storage, name, model));
  } catch (error) {
    throw paramError('/embedding_model', error);
  }
}
