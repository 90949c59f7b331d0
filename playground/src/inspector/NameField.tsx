import { useState } from 'react';
import { nodePointer } from '../document/faultPlace.ts';
import { useDocument } from '../document/documentStore.ts';
import { Button } from '../ui/Button.tsx';
import { FieldRow } from './FieldRow.tsx';

const schema = { description: 'The name of the node. All exits and the start that name it follow.' };

/** The name of a node. It is changed when the field is left, or with Enter. */
export function NameField({ name }: { readonly name: string }) {
  const graph = useDocument((store) => store.graph);
  const { edit, renameNode } = useDocument.getState();
  const [draft, setDraft] = useState<string>();
  const isTaken = draft !== undefined && draft !== name && Object.hasOwn(graph?.nodes ?? {}, draft);
  const error = isTaken ? 'Another node has this name.' : draft === '' ? 'A node needs a name.' : undefined;
  const commit = (): void => {
    if (draft !== undefined && draft !== name && error === undefined) renameNode(name, draft);
    setDraft(undefined);
  };
  const isStart = graph?.start_node === name;
  return (
    <FieldRow label="Name" path={['nodes', name]} schema={schema} error={error}>
      {(control) => (
        <div className="inspector-entry-row">
          <input
            {...control}
            type="text"
            data-pointer={nodePointer(name)}
            autoComplete="off"
            spellCheck={false}
            value={draft ?? name}
            onChange={(event) => setDraft(event.target.value)}
            onBlur={commit}
            onKeyDown={(event) => {
              if (event.key === 'Enter') commit();
              if (event.key === 'Escape') setDraft(undefined);
            }}
          />
          <Button
            size="small"
            aria-pressed={isStart}
            disabled={control.disabled || isStart}
            onClick={() => edit(['start_node'], name)}
          >
            {isStart ? 'Start node' : 'Make start'}
          </Button>
        </div>
      )}
    </FieldRow>
  );
}
