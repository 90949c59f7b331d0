import { Graph, layout } from '@dagrejs/dagre';
import type { NodeView } from './graphView.ts';

/** The top left corner of a node, in pixels. */
export interface Position {
  readonly x: number;
  readonly y: number;
}

/** Positions by the name of the node. */
export type NodePositions = ReadonlyMap<string, Position>;

/** The width of all nodes, in pixels. */
export const nodeWidth = 230;

const headHeight = 62;
const exitHeight = 24;
const gap = { x: 90, y: 30 } as const;

/** The height of a node, in pixels: it has a row for each exit. */
export const nodeHeight = ({ exits }: Pick<NodeView, 'exits'>): number =>
  headHeight + exits.length * exitHeight + (exits.length > 0 ? 10 : 0);

/** Places the nodes of a graph in layers from left to right, in the order of their exits (Sugiyama, by dagre). */
export function layoutGraph(views: readonly NodeView[]): NodePositions {
  const graph = new Graph({ multigraph: true });
  graph.setGraph({ rankdir: 'LR', nodesep: gap.y, ranksep: gap.x });
  graph.setDefaultEdgeLabel(() => ({}));
  for (const view of views) graph.setNode(view.name, { width: nodeWidth, height: nodeHeight(view) });
  for (const { name, exits } of views)
    for (const exit of exits) if (exit.leadsTo === 'node') graph.setEdge(name, exit.target, {}, exit.name);
  layout(graph);
  return new Map(
    views.map((view) => {
      const { x, y } = graph.node(view.name) as Position;
      return [view.name, { x: Math.round(x - nodeWidth / 2), y: Math.round(y - nodeHeight(view) / 2) }];
    }),
  );
}

/** A free place for a new node: to the right of another one, or below what is there. */
export function freePlace(views: readonly NodeView[], positions: NodePositions, beside: string | undefined): Position {
  const taken = views.flatMap((view) => {
    const position = positions.get(view.name);
    return position ? [{ ...position, height: nodeHeight(view) }] : [];
  });
  if (taken.length === 0) return { x: 0, y: 0 };
  const start = beside === undefined ? undefined : positions.get(beside);
  const x = start ? start.x + nodeWidth + gap.x : Math.min(...taken.map((place) => place.x));
  const columns = taken.filter((place) => Math.abs(place.x - x) < nodeWidth + 20);
  let y = start?.y ?? Math.max(...taken.map((place) => place.y + place.height)) + gap.y;
  for (const place of columns.toSorted((a, b) => a.y - b.y))
    if (y < place.y + place.height + gap.y && y + 110 > place.y) y = place.y + place.height + gap.y;
  return { x, y };
}

/** The nearest node in the direction of an arrow key. */
export function neighbour(positions: NodePositions, from: string, key: string): string | undefined {
  const start = positions.get(from);
  const axis = key === 'ArrowLeft' || key === 'ArrowRight' ? 'x' : 'y';
  const sign = key === 'ArrowRight' || key === 'ArrowDown' ? 1 : -1;
  if (!start) return undefined;
  const other = axis === 'x' ? 'y' : 'x';
  const candidates = [...positions].flatMap(([name, position]) => {
    const ahead = (position[axis] - start[axis]) * sign;
    const aside = Math.abs(position[other] - start[other]);
    return name !== from && ahead > 8 ? [{ name, distance: ahead + 2 * aside }] : [];
  });
  return candidates.toSorted((a, b) => a.distance - b.distance)[0]?.name;
}
