import type { PageAgent } from './pageAgent.ts';
import { useIsPresentBroken } from './useIsPresentBroken.ts';
import { usePresentText } from './usePresentText.ts';

const noAgent = { graphName: '', graphText: '' };

/** The text of the graph of an agent that could not be made, once it was edited and has no errors: a message makes it again. */
export function useMendedText(agent: PageAgent | undefined): string | undefined {
  const present = usePresentText(agent ?? noAgent);
  const isBroken = useIsPresentBroken(agent ?? noAgent);
  return agent?.state === 'failed' && present !== agent.graphText && !isBroken ? present : undefined;
}
