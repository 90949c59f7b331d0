import { useState } from 'react';
import { useDocument } from '../document/documentStore.ts';
import type { GraphNode } from '../document/graphDocument.ts';
import { exitNames } from '../document/graphTypes.ts';
import { useTypes } from '../document/typesStore.ts';
import { Button } from '../ui/Button.tsx';
import { FieldRow } from './FieldRow.tsx';

/** Properties of the exits of a node. */
export interface ExitFieldsProps {
  readonly name: string;
  readonly node: GraphNode;
}

const schema = { description: 'The node that comes next on this exit, or none: then the turn ends.' };

/** A choice of the next node for each exit. */
export function ExitFields({ name, node }: ExitFieldsProps) {
  const types = useTypes((store) => store.types);
  const nodes = Object.keys(useDocument((store) => store.graph)?.nodes ?? {});
  const connect = useDocument((store) => store.connectExit);
  const { hasOpenExits: isOpen = false, exitsFrom } = types.types.get(node.type) ?? {};
  const hasOpenExits = isOpen || (exitsFrom?.withoutList && node.params?.[exitsFrom.param] === undefined);
  const exits = exitNames(types, node);
  return (
    <section className="inspector-section" aria-label="Exits">
      <h2>Exits</h2>
      {exits.map((exit) => {
        const target = node.exits?.[exit] ?? '';
        return (
          <FieldRow key={exit} label={`exit ${exit}`} path={['nodes', name, 'exits', exit]} schema={schema}>
            {(control) => (
              <select
                {...control}
                className="inspector-choice"
                value={target}
                onChange={(event) => connect(name, exit, event.target.value)}
              >
                <option value="">ends the turn</option>
                {target !== '' && !nodes.includes(target) && (
                  <option value={target}>{`${target} (no such node)`}</option>
                )}
                {nodes.map((other) => (
                  <option key={other} value={other}>
                    {other === name ? `${other} (itself)` : other}
                  </option>
                ))}
              </select>
            )}
          </FieldRow>
        );
      })}
      {exits.length === 0 && !hasOpenExits && <p className="muted">This node has no exits.</p>}
      {hasOpenExits && <AddExit name={name} target={nodes[0] ?? ''} />}
    </section>
  );
}

/** Exits of a type that follow from a rule of its own: the schema cannot tell them. */
function AddExit({ name, target }: { readonly name: string; readonly target: string }) {
  const [exit, setExit] = useState('');
  const edit = useDocument((store) => store.edit);
  return (
    <form
      className="inspector-entry-row"
      onSubmit={(event) => {
        event.preventDefault();
        if (exit !== '') edit(['nodes', name, 'exits', exit], target);
        setExit('');
      }}
    >
      <input
        type="text"
        aria-label="Name of another exit"
        placeholder="name of another exit"
        value={exit}
        onChange={(event) => setExit(event.target.value)}
      />
      <Button type="submit" size="small" icon="add" disabled={exit === ''}>
        Add exit
      </Button>
    </form>
  );
}
