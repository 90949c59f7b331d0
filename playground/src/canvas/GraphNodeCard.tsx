import { Handle, Position, useUpdateNodeInternals, type NodeProps } from '@xyflow/react';
import { memo, useEffect } from 'react';
import { Icon } from '../ui/Icon.tsx';
import type { FlowNode } from './flowElements.ts';
import { flowId } from './flowId.ts';
import type { ExitView } from './graphView.ts';

const endings = { node: '', end: 'ends the turn', missing: 'no node' } as const;

/** A node of the graph on the canvas, with a row for each exit. */
export const GraphNodeCard = memo(function GraphNodeCard({ id, data: { view } }: NodeProps<FlowNode>) {
  const { name, type, isStart, isReachable, summary, exits, faults, run, visits } = view;
  const [fault] = faults;
  const updateNodeInternals = useUpdateNodeInternals();
  const exitList = exits.map((exit) => exit.name).join('\n');
  // The handles of exits have other places then, although the node may have the same size.
  useEffect(() => updateNodeInternals(id), [updateNodeInternals, id, exitList]);
  return (
    <>
      <Handle type="target" position={Position.Left} className="canvas-target" />
      <div className="canvas-node-head">
        <span className="canvas-node-type">{type || 'no type'}</span>
        {isStart && <span className="canvas-node-tag">start</span>}
        {!isReachable && <span className="canvas-node-tag">unreachable</span>}
        {run === 'done' && (
          <span className="canvas-node-run" title={`visited in the last turn${visits > 1 ? `, ${visits} times` : ''}`}>
            <Icon name="check" />
            {visits > 1 && visits}
          </span>
        )}
        {run === 'running' && <span className="canvas-node-running">running</span>}
        {fault && (
          <span className="canvas-node-faults" data-severity={worst(faults)} title={faults.map(messageOf).join('\n')}>
            <Icon name="alert" />
            {faults.length}
          </span>
        )}
      </div>
      <div className="canvas-node-name">{name}</div>
      <div className="canvas-node-summary" title={summary}>
        {summary}
      </div>
      {exits.length > 0 && (
        <div className="canvas-exits">
          {exits.map((exit) => (
            <ExitRow key={exit.name} exit={exit} />
          ))}
        </div>
      )}
    </>
  );
});

function ExitRow({ exit: { name, target, leadsTo } }: { readonly exit: ExitView }) {
  return (
    <div className="canvas-exit" data-exit={name} data-leads-to={leadsTo}>
      <span className="canvas-exit-name">{name}</span>
      {leadsTo !== 'node' && (
        <span className="canvas-exit-ending">{leadsTo === 'missing' ? `no node "${target}"` : endings[leadsTo]}</span>
      )}
      <Handle
        type="source"
        position={Position.Right}
        id={flowId(name)}
        title={`Drag to a node to lead "${name}" there`}
      />
    </div>
  );
}

const worst = (faults: FlowNode['data']['view']['faults']): string =>
  faults.some(({ severity }) => severity === 'error') ? 'error' : 'warning';

const messageOf = ({ message }: { readonly message: string }): string => message;
