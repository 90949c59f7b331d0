import { useMemo } from 'react';
import { useDocument } from '../document/documentStore.ts';
import { parseGraph } from '../document/graphDocument.ts';
import { useTypes } from '../document/typesStore.ts';
import { groupFields, isChanged, liveNodes, type LiveNode } from './liveParams.ts';
import type { PageAgent } from './pageAgent.ts';
import { ParamField } from './ParamField.tsx';

/** Of a graph with more nodes only the fields of the selected one are shown at first. */
const maxOpen = 4;

/** The live parameters of an agent's nodes: what is changed here holds from its next turn on. */
export function ParametersTab({ agent }: { readonly agent: PageAgent | undefined }) {
  const types = useTypes((store) => store.types);
  const selected = useDocument((store) => store.selected);
  const graph = useMemo(() => agent && parseGraph(agent.graphText).graph, [agent?.graphText]);
  const nodes = useMemo(() => (graph ? liveNodes(graph, types) : []), [graph, types]);
  if (!agent) return <p className="turn-empty muted">Make an agent: its live parameters can be changed here.</p>;
  if (nodes.length === 0) return <p className="turn-empty muted">No node of this graph has live parameters.</p>;
  return (
    <div className="turn-params">
      <p className="muted">
        {agent.running
          ? 'A turn runs: parameters can be changed when it has ended.'
          : 'Changes hold for this agent from its next turn on. The graph file stays as it is.'}
      </p>
      {nodes.map((node) => (
        <NodeParams
          key={node.name}
          agent={agent}
          node={node}
          fromGraph={graph?.nodes[node.name]?.params}
          opens={nodes.length <= maxOpen || node.name === selected}
        />
      ))}
    </div>
  );
}

interface NodeParamsProps {
  readonly agent: PageAgent;
  readonly node: LiveNode;
  readonly fromGraph: Readonly<Record<string, unknown>> | undefined;
  /** Whether its fields are shown at first. */
  readonly opens: boolean;
}

function NodeParams({ agent, node, fromGraph, opens }: NodeParamsProps) {
  const { name, type, fields } = node;
  const changed = agent.changedParams[name];
  const count = fields.filter((field) => isChanged(field, fromGraph, changed)).length;
  const groups = groupFields(fields);
  return (
    <details className="turn-node" open={opens}>
      <summary>
        <span className="mono">{name}</span> <span className="muted">{type}</span>
        {count > 0 && <span className="conversation-badge">{count === 1 ? '1 change' : `${count} changes`}</span>}
      </summary>
      {groups.map((group) => (
        <div key={group.name} className="turn-fields" role={group.name ? 'group' : undefined} aria-label={group.name}>
          {group.name && <p className="turn-group mono">{group.name}</p>}
          {group.fields.map((field) => (
            <ParamField
              key={field.path.join('.')}
              agent={agent}
              node={name}
              field={field}
              fromGraph={fromGraph}
              changed={changed}
            />
          ))}
        </div>
      ))}
    </details>
  );
}
