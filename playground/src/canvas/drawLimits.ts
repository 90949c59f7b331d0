import type { GraphFile } from '../document/graphDocument.ts';
import { exitNames, type GraphTypes } from '../document/graphTypes.ts';

/** What the canvas draws at most: of a larger graph the page would not answer for a long time. */
export const drawLimits = { nodes: 400, exits: 4000 } as const;

/** Why a graph is not drawn, as a sentence; undefined: it is. */
export function drawProblem({ nodes }: GraphFile, types: GraphTypes): string | undefined {
  const all = Object.values(nodes);
  const exits = all.length > drawLimits.nodes ? 0 : all.reduce((sum, node) => sum + exitNames(types, node).length, 0);
  if (all.length <= drawLimits.nodes && exits <= drawLimits.exits) return undefined;
  const size = all.length > drawLimits.nodes ? `${all.length} nodes` : `${exits} exits`;
  return `The graph has ${size}, and ${drawLimits.nodes} nodes with ${drawLimits.exits} exits are drawn at most. Its text can be edited.`;
}
