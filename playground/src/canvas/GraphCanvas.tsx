import { Background, Controls, ReactFlow, type Edge, type Node } from '@xyflow/react';
import { useMemo } from 'react';
import { activeAgent, useAgents } from '../conversation/agentStore.ts';
import { useDocument } from '../document/documentStore.ts';
import { GraphNodeCard, type GraphNodeData } from './GraphNodeCard.tsx';
import { layoutGraph, nodeSize } from './layout.ts';

const nodeTypes = { graphNode: GraphNodeCard };

/** The graph, drawn. The path of the active agent's last turn is lit. */
export function GraphCanvas() {
  const { graph, selected, select } = useDocument();
  const visits = useAgents((store) => activeAgent(store)?.turns.at(-1)?.visits);
  const nodes = useMemo((): Node<GraphNodeData>[] => {
    if (!graph) return [];
    const positions = layoutGraph(graph);
    return Object.entries(graph.nodes).map(([name, { type }]) => {
      const { x = 0, y = 0 } = positions.get(name) ?? {};
      return {
        id: name,
        type: 'graphNode',
        position: { x: x - nodeSize.width / 2, y: y - nodeSize.height / 2 },
        data: { name, nodeType: type, isStart: name === graph.start_node },
      };
    });
  }, [graph]);
  const edges = useMemo((): Edge[] => {
    if (!graph) return [];
    return Object.entries(graph.nodes).flatMap(([source, { exits = {} }]) =>
      Object.entries(exits)
        .filter(([, target]) => graph.nodes[target])
        .map(([exit, target]) => ({ id: `${source} ${exit}`, source, target, label: exit })),
    );
  }, [graph]);
  const shown = nodes.map((node) => {
    const visit = visits?.findLast(({ node: name }) => name === node.id);
    const run: GraphNodeData['run'] = !visit ? undefined : visit.endedAt === undefined ? 'running' : 'done';
    return { ...node, selected: node.id === selected, data: { ...node.data, run } };
  });
  return (
    <ReactFlow
      nodes={shown}
      edges={edges}
      nodeTypes={nodeTypes}
      onNodeClick={(_, { id }) => select(id)}
      fitView
      colorMode="system"
    >
      <Background />
      <Controls showInteractive={false} />
    </ReactFlow>
  );
}
