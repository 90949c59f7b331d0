import type { CompileOptions } from '../compile/compile.ts';
import type { NodeContext } from '../compile/node.ts';
import type { SessionStorages } from '../storage/sessionStorages.ts';
import type { AgentModels } from './agentModels.ts';
import { openRetriever } from './openRetriever.ts';

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
