import { useId, useState } from 'react';
import { useDocument } from '../document/documentStore.ts';
import { commitValue } from './commitValue.ts';
import { EntryActions, type EntryProps } from './EntryActions.tsx';
import { pathPointer } from './FieldRow.tsx';
import { formatAny, parseAny } from './formModel.ts';

/** An entry of a list that is a text, or a value in one line. */
export function EntryRow(props: EntryProps) {
  const { list, index, name, schema, value } = props;
  const id = useId();
  const [draft, setDraft] = useState<string>();
  const path = [...list, index];
  const pointer = pathPointer(path);
  const faults = useDocument((store) => store.faults).filter((fault) => fault.pointer === pointer);
  const isEditable = useDocument((store) => store.isEditable);
  const isText = schema.type === 'string';
  return (
    <div className="inspector-entry">
      <div className="inspector-entry-row">
        <input
          type="text"
          className={isText ? undefined : 'mono'}
          aria-label={`${name} ${index + 1}`}
          aria-invalid={faults.length > 0 || undefined}
          aria-describedby={faults.length > 0 ? id : undefined}
          data-pointer={pointer}
          disabled={!isEditable}
          autoComplete="off"
          value={draft ?? (isText ? String(value) : formatAny(value))}
          onChange={({ target }) => {
            if (!isText) setDraft(target.value);
            commitValue(path, isText ? target.value : parseAny(target.value));
          }}
          onBlur={() => setDraft(undefined)}
        />
        <EntryActions {...props} />
      </div>
      {faults.length > 0 && (
        <div className="inspector-faults" id={id}>
          {faults.map(({ message, severity }) => (
            <p key={message} data-severity={severity}>
              {message}
            </p>
          ))}
        </div>
      )}
    </div>
  );
}
