import { Handle, Position, type Node, type NodeProps } from '@xyflow/react';

/** What a node of the canvas shows. */
export interface GraphNodeData extends Record<string, unknown> {
  readonly name: string;
  readonly nodeType: string;
  readonly isStart: boolean;
  /** Its part in the last turn of the active agent. */
  readonly run?: 'running' | 'done' | undefined;
}

/** A node of the graph on the canvas. */
export function GraphNodeCard({ data: { name, nodeType, isStart, run } }: NodeProps<Node<GraphNodeData>>) {
  return (
    <div className="node" data-node={name} data-type={nodeType} data-run={run}>
      <Handle type="target" position={Position.Left} />
      <span className="node-type">
        {nodeType}
        {isStart && ' · start'}
      </span>
      <strong>{name}</strong>
      <Handle type="source" position={Position.Right} />
    </div>
  );
}
