import { useDocument } from '../document/documentStore.ts';
import type { PageAgent } from './pageAgent.ts';

/** Whether the graph of an agent is the open one and has errors, so that no agent can be made from it as it is now. */
export const useIsPresentBroken = ({ graphName }: Pick<PageAgent, 'graphName'>): boolean =>
  useDocument(({ name, faults }) => name === graphName && faults.some(({ severity }) => severity === 'error'));
