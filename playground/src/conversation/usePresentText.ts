import { useDocument } from '../document/documentStore.ts';
import type { PageAgent } from './pageAgent.ts';

/** The text of an agent's graph as it is now: that of the document while it is the same graph, else the agent's own. */
export const usePresentText = ({ graphName, graphText }: Pick<PageAgent, 'graphName' | 'graphText'>): string =>
  useDocument(({ name, text }) => (name === graphName && text !== '' ? text : graphText));
