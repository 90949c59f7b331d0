import { agentModelName } from '../app/agentModelName.ts';
import { useDocument } from '../document/documentStore.ts';
import { useAgents } from './agentStore.ts';

/** Makes an agent of the graph as it is now. @returns undefined while no graph is open. */
export function useNewAgent(): ((options?: { modelName?: string; history?: string }) => Promise<void>) | undefined {
  const isEmpty = useDocument(({ text }) => text === '');
  const create = useAgents((store) => store.create);
  if (isEmpty) return undefined;
  return ({ modelName, history } = {}) => {
    const { name, text, graph } = useDocument.getState();
    return create(name, text, modelName ?? agentModelName(graph), history);
  };
}
