import { useDocument } from '../document/documentStore.ts';
import type { GraphNode } from '../document/graphDocument.ts';
import { initialNode } from '../document/initialValue.ts';
import { useTypes } from '../document/typesStore.ts';
import { ExitFields } from './ExitFields.tsx';
import { FieldRow } from './FieldRow.tsx';
import { NameField } from './NameField.tsx';
import { Members } from './ObjectField.tsx';

/** Properties of the form of a node. */
export interface NodeFormProps {
  readonly name: string;
  readonly node: GraphNode;
}

/** The selected node as a form, which follows the schema of its type. */
export function NodeForm({ name, node }: NodeFormProps) {
  const types = useTypes((store) => store.types.types);
  const reason = useTypes((store) => store.reason);
  const { edit, setText } = useDocument.getState();
  const type = types.get(node.type);
  const changeType = (next: string): void => {
    const schema = types.get(next);
    if (!schema) return;
    const isFresh = Object.keys(node.params ?? {}).length === 0;
    edit(['nodes', name, 'type'], next);
    const initial = initialNode(schema) as { readonly params?: object };
    if (isFresh && initial.params) {
      edit(['nodes', name, 'params'], initial.params);
      setText(useDocument.getState().text);
    }
  };
  return (
    <>
      <section className="inspector-section" aria-label="Node">
        <NameField name={name} />
        <FieldRow label="type" path={['nodes', name, 'type']} schema={{ description: type?.summary ?? '' }}>
          {(control) => (
            <select
              {...control}
              className="inspector-choice"
              value={node.type}
              onChange={(event) => changeType(event.target.value)}
            >
              {!type && <option value={node.type}>{node.type || 'no type'}</option>}
              {[...types.keys()].map((one) => (
                <option key={one}>{one}</option>
              ))}
            </select>
          )}
        </FieldRow>
        {type && <p className="inspector-summary">{type.summary}</p>}
        {reason && <p className="inspector-faults">{reason}</p>}
      </section>
      <ExitFields name={name} node={node} />
      <section className="inspector-section" aria-label="Parameters">
        <h2>Parameters</h2>
        <Members schema={type?.params ?? {}} value={node.params} path={['nodes', name, 'params']} />
      </section>
    </>
  );
}
