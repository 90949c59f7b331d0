import type { GraphFault, GraphFile } from '../document/graphDocument.ts';
import { faultsByNode } from '../document/faultPlace.ts';
import { exitNames, type GraphTypes } from '../document/graphTypes.ts';
import { summarizeNode } from './nodeSummary.ts';
import type { TurnPath } from './turnPath.ts';

/** An exit as it is drawn. */
export interface ExitView {
  readonly name: string;
  /** The node that it names; "" = none. */
  readonly target: string;
  /** `end`: the exit ends the turn; `missing`: there is no node of this name. */
  readonly leadsTo: 'node' | 'end' | 'missing';
}

/** A node as it is drawn. */
export interface NodeView {
  readonly name: string;
  readonly type: string;
  readonly isStart: boolean;
  /** Whether a turn can get to it. */
  readonly isReachable: boolean;
  readonly summary: string;
  readonly exits: readonly ExitView[];
  readonly faults: readonly GraphFault[];
  /** Its part in the chosen turn of the active agent. */
  readonly run: 'running' | 'done' | undefined;
  /** How often the turn came by. */
  readonly visits: number;
}

/** What the views of all nodes follow from. */
export interface ViewInput {
  readonly graph: GraphFile;
  readonly types: GraphTypes;
  readonly faults: readonly GraphFault[];
  readonly path: TurnPath;
}

const noFaults: readonly GraphFault[] = [];

/** The views of all nodes of a graph. */
export function viewGraph({ graph, types, faults, path }: ViewInput): readonly NodeView[] {
  const reachable = reachableNodes(graph);
  const byNode = faultsByNode(faults);
  return Object.entries(graph.nodes).map(([name, node]) => ({
    name,
    type: node.type,
    isStart: name === graph.start_node,
    isReachable: reachable.has(name),
    summary: summarizeNode(node),
    exits: exitNames(types, node).map((exit) => viewExit(graph, exit, node.exits?.[exit] ?? '')),
    faults: byNode.get(name) ?? noFaults,
    run: path.nodes.get(name)?.run,
    visits: path.nodes.get(name)?.visits ?? 0,
  }));
}

/** Whether two views are drawn the same. */
export const isSameView = (a: NodeView, b: NodeView): boolean => a === b || JSON.stringify(a) === JSON.stringify(b);

const viewExit = ({ nodes }: GraphFile, name: string, target: string): ExitView => ({
  name,
  target,
  leadsTo: target === '' ? 'end' : Object.hasOwn(nodes, target) ? 'node' : 'missing',
});

function reachableNodes({ nodes, start_node: start }: GraphFile): ReadonlySet<string> {
  const found = new Set<string>();
  const open = [start];
  for (let name = open.pop(); name !== undefined; name = open.pop()) {
    const node = Object.hasOwn(nodes, name) ? nodes[name] : undefined;
    if (!node || found.has(name)) continue;
    found.add(name);
    // The target "" is no node's name: it ends the turn.
    for (const target of Object.values(node.exits ?? {})) if (target !== '') open.push(target);
  }
  return found;
}
