import { useState, type ReactNode } from 'react';
import type { JSONPath } from 'jsonc-parser';
import { useDocument } from '../document/documentStore.ts';
import { faultsWithin } from '../document/faultPlace.ts';
import type { FieldSchema } from '../document/graphTypes.ts';
import { pathPointer } from './FieldRow.tsx';

/** Properties of a group of fields. */
export interface FieldGroupProps {
  readonly label: string;
  readonly path: JSONPath;
  readonly schema: FieldSchema;
  readonly required?: boolean;
  /** What is in it, in a few words. */
  readonly note?: string;
  readonly isOpen?: boolean;
  /** Buttons beside its head. */
  readonly actions?: ReactNode;
  readonly children: ReactNode;
}

/** Fields that belong together, with a head that opens and closes them, and the faults of the value itself. */
export function FieldGroup({
  label,
  path,
  schema,
  required,
  note,
  isOpen = false,
  actions,
  children,
}: FieldGroupProps) {
  const pointer = pathPointer(path);
  const [open, setOpen] = useState(isOpen);
  const within = faultsWithin(
    useDocument((store) => store.faults),
    pointer,
  );
  const own = within.filter((fault) => fault.pointer === pointer);
  const hasErrors = within.some(({ severity }) => severity === 'error');
  return (
    <details
      className="inspector-group"
      data-invalid={hasErrors}
      open={open}
      onToggle={(event) => event.target === event.currentTarget && setOpen(event.currentTarget.open)}
    >
      <summary data-pointer={pointer} title={schema.description}>
        <span className="inspector-group-label">{label}</span>
        {required && <span className="inspector-required">*</span>}
        {schema['x-live'] && <span className="inspector-live">live</span>}
        {note && <span className="inspector-note">{note}</span>}
        {within.length > 0 && (
          <span className="inspector-count" data-severity={hasErrors ? 'error' : 'warning'}>
            {within.length === 1 ? '1 fault' : `${within.length} faults`}
          </span>
        )}
      </summary>
      {actions && <div className="inspector-group-actions">{actions}</div>}
      <fieldset className="inspector-group-body" aria-label={label}>
        {schema.description && <p className="inspector-description">{schema.description}</p>}
        {own.map(({ message, severity }) => (
          <p key={message} className="inspector-faults" data-severity={severity}>
            {message}
          </p>
        ))}
        {children}
      </fieldset>
    </details>
  );
}
