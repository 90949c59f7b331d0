import { MarkerType, type Edge, type Node } from '@xyflow/react';
import { flowId } from './flowId.ts';
import { isSameView, type NodeView } from './graphView.ts';
import { nodeHeight, nodeWidth, type NodePositions } from './layout.ts';
import { edgeId } from './turnPath.ts';

/** A node as React Flow takes it. */
export type FlowNode = Node<{ readonly view: NodeView }, 'graphNode'>;

/**
 * The nodes for React Flow. Those of which nothing changed are the objects of before, so that they are not rendered again;
 * a node that was there keeps what React Flow knows of it.
 */
export function flowNodes(
  before: readonly FlowNode[],
  views: readonly NodeView[],
  positions: NodePositions,
  selected: string | undefined,
): FlowNode[] {
  const known = new Map(before.map((node) => [node.data.view.name, node]));
  return views.map((view) => {
    const old = known.get(view.name);
    const position = positions.get(view.name) ?? old?.position ?? { x: 0, y: 0 };
    const isSelected = view.name === selected;
    const isSame =
      old &&
      isSameView(old.data.view, view) &&
      (old.selected ?? false) === isSelected &&
      old.position.x === position.x &&
      old.position.y === position.y;
    return isSame ? old : { ...old, ...flowNode(view, isSelected), position: { ...position } };
  });
}

const flowNode = (view: NodeView, selected: boolean): FlowNode => ({
  id: flowId(view.name),
  type: 'graphNode',
  position: { x: 0, y: 0 },
  width: nodeWidth,
  height: nodeHeight(view),
  data: { view },
  selected,
  // Not a button: what is in one has no meaning for a screen reader, and the exits are in it.
  ariaRole: 'group',
  ariaLabel: `${view.name}, ${view.type}`,
  domAttributes: dataAttributes({
    'data-node': view.name,
    'data-type': view.type,
    'data-run': view.run,
    'data-faults': view.faults.length > 0 ? String(view.faults.length) : undefined,
    'data-unreachable': view.isReachable ? undefined : 'true',
    'aria-current': selected ? 'true' : undefined,
  }),
});

/** The edges for React Flow: of every exit that leads to a node. Those of which nothing changed are the objects of before. */
export function flowEdges(before: readonly Edge[], views: readonly NodeView[], taken: ReadonlySet<string>): Edge[] {
  const known = new Map(before.map((edge) => [edge.id, edge]));
  return views.flatMap(({ name, exits, isReachable }) =>
    exits
      .filter(({ leadsTo }) => leadsTo === 'node')
      .map((exit): Edge => {
        const id = edgeId(name, exit.name);
        const isTaken = taken.has(id);
        const target = flowId(exit.target);
        const className = isTaken ? 'canvas-edge-taken' : isReachable ? '' : 'canvas-edge-unreachable';
        const old = known.get(id);
        if (old?.target === target && old.className === className) return old;
        return {
          id,
          source: flowId(name),
          sourceHandle: flowId(exit.name),
          target,
          className,
          selected: old?.selected ?? false,
          markerEnd: { type: MarkerType.ArrowClosed, width: 16, height: 16, color: 'var(--canvas-edge)' },
          ...(isTaken && {
            markerEnd: { type: MarkerType.ArrowClosed, width: 11, height: 11, color: 'var(--running)' },
            zIndex: 1,
          }),
          domAttributes: dataAttributes({ 'data-taken': isTaken ? 'true' : undefined, 'data-edge': id }),
        };
      }),
  );
}

// The types of React Flow know no data attributes, but the elements get them.
const dataAttributes = (attributes: Readonly<Record<string, string | boolean | undefined>>): object => attributes;
