import { Background, Controls, MiniMap, ReactFlow, ReactFlowProvider, useReactFlow, type Edge } from '@xyflow/react';
import { useEffect, useRef } from 'react';
import { useDocument } from '../document/documentStore.ts';
import { nodePointer } from '../document/faultPlace.ts';
import { useUndoKeys } from '../document/useUndoKeys.ts';
import { useFocus } from '../document/focusStore.ts';
import { CanvasToolbar } from './CanvasToolbar.tsx';
import type { FlowNode } from './flowElements.ts';
import { flowId, nameOfFlowId } from './flowId.ts';
import { GraphNodeCard } from './GraphNodeCard.tsx';
import { nodeAt } from './nodeAt.ts';
import { exitOfEdge } from './turnPath.ts';
import { useCanvasKeys } from './useCanvasKeys.ts';
import { useFlow } from './useFlow.ts';
import './canvas.css';

const nodeTypes = { graphNode: GraphNodeCard };
const padding = { top: '24px', right: '40px', bottom: '56px', left: '32px' } as const;
const fitViewOptions = { padding, maxZoom: 1 } as const;
const minNodesForMap = 25;

/** The graph, drawn. The path of the active agent's chosen turn is lit, which is the last one unless another is chosen. */
export function GraphCanvas() {
  return (
    <ReactFlowProvider>
      <Canvas />
    </ReactFlowProvider>
  );
}

function Canvas() {
  const { nodes, edges, onNodesChange, onEdgesChange, arrange, layouts, problem } = useFlow();
  const { fitView } = useReactFlow();
  const isEditable = useDocument((store) => store.isEditable);
  const isEmpty = useDocument((store) => store.graph === undefined);
  const select = useDocument((store) => store.select);
  const connectExit = useDocument((store) => store.connectExit);
  const reveal = useFocus((store) => store.reveal);
  useUndoKeys('.canvas, .inspector');
  const root = useRef<HTMLDivElement>(null);
  useShowAdded(nodes.length, layouts);
  const onKeyDown = useCanvasKeys(nodes, edges);
  useEffect(() => {
    // React Flow has measured the nodes by then.
    const timer = setTimeout(() => layouts > 0 && void fitView(fitViewOptions), 60);
    return () => clearTimeout(timer);
  }, [layouts, fitView]);
  /** @param source and the others are ids of React Flow. */
  const connect = (source: string, handle: string | null | undefined, target: string): void =>
    connectExit(nameOfFlowId(source), nameOfFlowId(handle ?? ''), nameOfFlowId(target));
  return (
    <div className="canvas" ref={root} tabIndex={-1} onKeyDown={onKeyDown}>
      <CanvasToolbar arrange={arrange} />
      <ReactFlow<FlowNode, Edge>
        nodes={nodes}
        edges={edges}
        nodeTypes={nodeTypes}
        onNodesChange={onNodesChange}
        onEdgesChange={onEdgesChange}
        onConnect={({ source, sourceHandle, target }) => connect(source, sourceHandle, target)}
        onConnectEnd={(event, { isValid, fromNode, fromHandle }) => {
          // Released on a node, but not near its handle.
          const target = isValid ? undefined : nodeAt(event);
          const isExit = fromNode && fromHandle?.type === 'source';
          if (isExit && target !== undefined && isEditable) connect(fromNode.id, fromHandle.id, flowId(target));
        }}
        onReconnect={(edge, { source, sourceHandle, target }) => {
          const { node, exit } = exitOfEdge(edge.id);
          if (flowId(node) !== source || flowId(exit) !== sourceHandle) connectExit(node, exit, undefined);
          connect(source, sourceHandle, target);
        }}
        onReconnectEnd={(event, edge, handleType, { isValid }) => {
          const { node, exit } = exitOfEdge(edge.id);
          // The end that stays is the other one of the edge.
          if (!isValid) connectExit(node, exit, handleType === 'source' ? nodeAt(event) : undefined);
        }}
        onNodeDoubleClick={(_, { id }) => reveal(nodePointer(nameOfFlowId(id)), 'node')}
        onEdgeClick={() => root.current?.focus({ preventScroll: true })}
        onPaneClick={() => {
          select(undefined);
          root.current?.focus({ preventScroll: true });
        }}
        nodesConnectable={isEditable}
        edgesReconnectable={isEditable}
        edgesFocusable={false}
        connectionRadius={36}
        deleteKeyCode={null}
        disableKeyboardA11y
        minZoom={0.02}
        fitViewOptions={fitViewOptions}
        proOptions={{ hideAttribution: true }}
      >
        <Background gap={18} color="var(--border)" />
        <Controls
          orientation="horizontal"
          showInteractive={false}
          fitViewOptions={fitViewOptions}
          position="bottom-left"
        />
        {nodes.length >= minNodesForMap && <MiniMap pannable zoomable ariaLabel="Map of the graph" />}
      </ReactFlow>
      {isEmpty && <p className="canvas-empty">Open a graph, drop a file on the page, or begin with “New graph”.</p>}
      {problem !== undefined && (
        <p className="canvas-empty" role="status">
          {problem}
        </p>
      )}
    </div>
  );
}

/** Shows the whole graph again when a node was added, which may be outside of what is visible. */
function useShowAdded(count: number, layouts: number): void {
  const { fitView } = useReactFlow();
  const before = useRef({ count, layouts });
  useEffect(() => {
    const isAdded = count > before.current.count && layouts === before.current.layouts && layouts > 0;
    before.current = { count, layouts };
    if (!isAdded) return undefined;
    const timer = setTimeout(() => void fitView({ ...fitViewOptions, duration: 200 }), 60);
    return () => clearTimeout(timer);
  }, [count, layouts, fitView]);
}
