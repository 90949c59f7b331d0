import { referencesOf } from '../../graph/compile/graphReferences.ts';
import { SessionStorages } from '../../graph/storage/sessionStorages.ts';
import { StorageRoot } from '../../graph/storage/storageRoot.ts';
import type { BundledGraph } from './bundledGraphs.ts';

/** The embedding models that storage files of graphs name, and that their nodes search by. @throws Fault of a file. */
export async function storageModels(graphs: readonly BundledGraph[]): Promise<readonly string[]> {
  const models = new Set<string>();
  for (const { document, storageRoot } of graphs) {
    const root = new StorageRoot(storageRoot);
    const storages = new SessionStorages(root, Infinity);
    for (const name of referencesOf(document).withOwnModel) {
      // A name without a file is that of a storage that the client creates.
      if ((await root.find(name)) === undefined) continue;
      const { knowledge } = await storages.find(name);
      if (knowledge?.embeddingModel !== undefined) models.add(knowledge.embeddingModel);
    }
  }
  return [...models];
}
