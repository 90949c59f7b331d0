import type { NodeVisit } from '../conversation/turnRecord.ts';
import type { GraphFile } from '../document/graphDocument.ts';

/** The part of a node in a turn. */
export interface NodeRun {
  readonly run: 'running' | 'done';
  /** How often the turn came by. */
  readonly visits: number;
}

/** The path of a turn through the graph. */
export interface TurnPath {
  readonly nodes: ReadonlyMap<string, NodeRun>;
  /** The edges that were taken: see `edgeId`. */
  readonly edges: ReadonlySet<string>;
}

/** The path before the first turn. */
export const emptyPath: TurnPath = { nodes: new Map(), edges: new Set() };

/** The id of the edge of an exit. */
export const edgeId = (node: string, exit: string): string => JSON.stringify([node, exit]);

/** The path of the visits of a turn; of the edges those that the graph still has. */
export function turnPath(visits: readonly NodeVisit[], { nodes }: GraphFile): TurnPath {
  const runs = new Map<string, NodeRun>();
  for (const { node, endedAt } of visits) {
    const before = runs.get(node);
    const isRunning = endedAt === undefined || before?.run === 'running';
    runs.set(node, { run: isRunning ? 'running' : 'done', visits: (before?.visits ?? 0) + 1 });
  }
  const taken = visits.flatMap(({ node, exit }, index) =>
    exit !== undefined && visits[index + 1] && visits[index + 1]?.node === nodes[node]?.exits?.[exit]
      ? [edgeId(node, exit)]
      : [],
  );
  return { nodes: runs, edges: new Set(taken) };
}

/** The node and the exit of an edge. */
export function exitOfEdge(id: string): { readonly node: string; readonly exit: string } {
  const [node, exit] = JSON.parse(id) as [string, string];
  return { node, exit };
}
