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

/**
 * Places the nodes of a graph in layers from left to right (Sugiyama, by dagre): in the order of their exits, or in the
 * order that dagre finds, whichever has fewer crossings. Dagre does not know at which height an exit is.
 */
export function layoutGraph(views: readonly NodeView[]): NodePositions {
  const inOrder = layoutWith(views, { disableOptimalOrderHeuristic: true });
  const found = layoutWith(views, {});
  return crossings(views, found) < crossings(views, inOrder) ? found : inOrder;
}

/** How many pairs of edges cross, drawn as straight lines from the exits. */
export function crossings(views: readonly NodeView[], positions: NodePositions): number {
  const lines = views.flatMap(({ name, exits }) =>
    exits.flatMap(({ target, leadsTo }, index) => {
      const [from, to] = [positions.get(name), positions.get(target)];
      if (leadsTo !== 'node' || !from || !to) return [];
      const start = { x: from.x + nodeWidth, y: from.y + headHeight + (index + 0.5) * exitHeight };
      return [{ start, end: { x: to.x, y: to.y + headHeight / 2 }, name, target }];
    }),
  );
  const cross = (a: Line, b: Line): boolean =>
    a.name !== b.target &&
    b.name !== a.target &&
    a.target !== b.target &&
    side(a, b.start) !== side(a, b.end) &&
    side(b, a.start) !== side(b, a.end);
  return lines.reduce((sum, a, index) => sum + lines.slice(index + 1).filter((b) => cross(a, b)).length, 0);
}

interface Line {
  readonly name: string;
  readonly target: string;
  readonly start: Position;
  readonly end: Position;
}

/** Whether a point is at the left of a line. */
const side = ({ start, end }: Line, { x, y }: Position): boolean =>
  (end.x - start.x) * (y - start.y) > (end.y - start.y) * (x - start.x);

function layoutWith(views: readonly NodeView[], options: Parameters<typeof layout>[1]): NodePositions {
  const graph = new Graph({ multigraph: true });
  graph.setGraph({ rankdir: 'LR', nodesep: gap.y, ranksep: gap.x });
  graph.setDefaultEdgeLabel(() => ({}));
  // Dagre takes a name such as `constructor` for a node that it has already: it gets numbers.
  const ids = new Map(views.map(({ name }, index) => [name, String(index)]));
  const idOf = (name: string): string => ids.get(name) ?? '';
  for (const view of views) graph.setNode(idOf(view.name), { width: nodeWidth, height: nodeHeight(view) });
  for (const { name, exits } of views)
    for (const exit of exits) if (exit.leadsTo === 'node') graph.setEdge(idOf(name), idOf(exit.target), {}, exit.name);
  layout(graph, options);
  return new Map(
    views.map((view) => {
      const { x, y } = graph.node(idOf(view.name)) as Position;
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
