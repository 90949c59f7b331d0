import { applyEdgeChanges, applyNodeChanges, type Edge, type EdgeChange, type NodeChange } from '@xyflow/react';
import { useCallback, useEffect, useMemo, useRef, useState } from 'react';
import { activeAgent, useAgents } from '../conversation/agentStore.ts';
import { shownTurn } from '../conversation/pageAgent.ts';
import { useDocument } from '../document/documentStore.ts';
import { noTypes } from '../document/graphTypes.ts';
import { useTypes } from '../document/typesStore.ts';
import { drawProblem } from './drawLimits.ts';
import { flowEdges, flowNodes, type FlowNode } from './flowElements.ts';
import { nameOfFlowId } from './flowId.ts';
import { viewGraph, type NodeView } from './graphView.ts';
import { freePlace, layoutGraph, type NodePositions, type Position } from './layout.ts';
import { emptyPath, turnPath } from './turnPath.ts';

/** The nodes and edges of the canvas, with the functions that React Flow reports changes to. */
export interface Flow {
  readonly nodes: FlowNode[];
  readonly edges: Edge[];
  onNodesChange(changes: NodeChange<FlowNode>[]): void;
  onEdgesChange(changes: EdgeChange[]): void;
  /** Lays all nodes out again. */
  arrange(): void;
  /** Changes with every layout of the whole graph: the view is then fitted to it. */
  readonly layouts: number;
  /** Why the graph is not drawn; undefined: it is. */
  readonly problem: string | undefined;
}

/** What was on the canvas before a change. */
interface Shown {
  readonly names: readonly string[];
  readonly selected: string | undefined;
}

/**
 * Keeps the elements of React Flow in step with the document. Positions are laid out when a document opens and when asked;
 * a node that is dragged stays where it is, and a new one gets a free place.
 */
export function useFlow(): Flow {
  const { views, taken, problem } = useViews();
  const areTypesSettled = useTypes(({ types, reason }) => types !== noTypes || reason !== undefined);
  const opened = useDocument((store) => store.opened);
  const selected = useDocument((store) => store.selected);
  const positions = useRef<Map<string, Position>>(new Map());
  const laidOut = useRef(-1);
  const [nodes, setNodes] = useState<FlowNode[]>([]);
  const [edges, setEdges] = useState<Edge[]>([]);
  const [layouts, setLayouts] = useState(0);
  const shown = useRef<Shown>({ names: [], selected: undefined });

  useEffect(() => {
    // Without the types the exits, and so the heights of the nodes, are not known.
    const isNew = laidOut.current !== opened && views.length > 0 && areTypesSettled;
    if (isNew) {
      laidOut.current = opened;
      positions.current = new Map(layoutGraph(views));
      setLayouts((count) => count + 1);
    }
    placeNewNodes(positions.current, views, shown.current);
    shown.current = { names: views.map(({ name }) => name), selected };
    setNodes((before) => flowNodes(isNew ? [] : before, views, positions.current, selected));
  }, [views, opened, selected, areTypesSettled]);
  useEffect(() => setEdges((before) => flowEdges(before, views, taken)), [views, taken]);

  const onNodesChange = useCallback((changes: NodeChange<FlowNode>[]) => {
    for (const change of changes) {
      if (change.type === 'position' && change.position)
        positions.current.set(nameOfFlowId(change.id), change.position);
      if (change.type === 'select' && change.selected) useDocument.getState().select(nameOfFlowId(change.id));
    }
    // The document says which node is selected.
    setNodes((before) =>
      applyNodeChanges(
        changes.filter(({ type }) => type === 'position' || type === 'dimensions'),
        before,
      ),
    );
  }, []);
  const onEdgesChange = useCallback(
    (changes: EdgeChange[]) =>
      setEdges((before) =>
        applyEdgeChanges(
          changes.filter(({ type }) => type === 'select'),
          before,
        ),
      ),
    [],
  );
  const arrange = useCallback(() => {
    positions.current = new Map(layoutGraph(views));
    setNodes((before) => flowNodes(before, views, positions.current, useDocument.getState().selected));
    setLayouts((count) => count + 1);
  }, [views]);
  return { nodes, edges, onNodesChange, onEdgesChange, arrange, layouts, problem };
}

interface Views {
  readonly views: readonly NodeView[];
  readonly taken: ReadonlySet<string>;
  readonly problem: string | undefined;
}

function useViews(): Views {
  const graph = useDocument((store) => store.graph);
  const faults = useDocument((store) => store.faults);
  const types = useTypes((store) => store.types);
  const visits = useAgents((store) => {
    const agent = activeAgent(store);
    return agent && shownTurn(agent)?.visits;
  });
  const path = useMemo(() => (visits && graph ? turnPath(visits, graph) : emptyPath), [visits, graph]);
  const problem = useMemo(() => graph && drawProblem(graph, types), [graph, types]);
  const views = useMemo(
    () => (graph && problem === undefined ? viewGraph({ graph, types, faults, path }) : []),
    [graph, types, faults, path, problem],
  );
  return { views, taken: path.edges, problem };
}

/** Gives nodes without a position one, a renamed node that of its old name. */
function placeNewNodes(
  positions: Map<string, Position>,
  views: readonly NodeView[],
  { names: before, selected: beside }: Shown,
): void {
  const names = new Set(views.map(({ name }) => name));
  const added = views.filter(({ name }) => !positions.has(name));
  const gone = before.filter((name) => !names.has(name));
  const old = positions.get(gone[0] ?? '');
  if (old && added[0] && added.length === 1 && gone.length === 1) positions.set(added[0].name, old);
  for (const { name } of added)
    if (!positions.has(name)) positions.set(name, freePlace(views, presentPositions(positions, names), beside));
}

// Positions of nodes that were removed are kept for an undo, but take no place.
const presentPositions = (positions: NodePositions, names: ReadonlySet<string>): NodePositions =>
  new Map([...positions].filter(([name]) => names.has(name)));
