import { InvalidParams, paramError, type RetrieverMatching } from '../graph/node.ts';
import { createRetriever, type Retriever } from '../retrieval/retriever.ts';
import type { StringStorage } from '../storage/stringStorage.ts';

/**
 * Opens the search of a node over a storage.
 * @param checkModel throws the Fault of a name that is no embedding model.
 * @throws InvalidParams when it cannot match the entries so.
 */
export function openRetriever(
  storage: StringStorage,
  { match, embeddingModel }: RetrieverMatching,
  checkModel: (name: string) => void,
): Retriever {
  if (match === 'words') return createRetriever(storage);
  const model = embeddingModel === '' ? (storage.knowledge?.embeddingModel ?? '') : embeddingModel;
  if (model === '') {
    const message = `is "${match}", and neither the node nor its storage names an embedding_model; name one, or match by "words"`;
    throw new InvalidParams([{ pointer: '/match', message }]);
  }
  try {
    checkModel(model);
  } catch (error) {
    throw paramError('/embedding_model', error);
  }
  const message = `is "${match}", and this version has no vectors of storages; match by "words"`;
  throw new InvalidParams([{ pointer: '/match', message }]);
}
