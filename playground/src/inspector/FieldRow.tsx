import { useId, useState, type ReactNode } from 'react';
import type { JSONPath } from 'jsonc-parser';
import { escapePointerToken } from '../../../src/base/jsonPointer.ts';
import { CodeText } from '../ui/CodeText.tsx';
import { useDocument } from '../document/documentStore.ts';
import type { FieldSchema } from '../document/graphTypes.ts';

/** Attributes that a control takes from its row. */
export interface ControlProps {
  readonly id: string;
  readonly 'data-pointer': string;
  readonly 'aria-invalid': boolean | undefined;
  readonly 'aria-describedby': string | undefined;
  readonly disabled: boolean;
}

/** Properties of the row of a field. */
export interface FieldRowProps {
  readonly label: string;
  /** Where the value is in the document. */
  readonly path: JSONPath;
  readonly schema: FieldSchema;
  readonly required?: boolean;
  /** The control below the label instead of beside it. */
  readonly wide?: boolean;
  /** What the control itself finds wrong. */
  readonly error?: string | undefined;
  readonly children: (control: ControlProps) => ReactNode;
}

/** The JSON pointer of a path. */
export const pathPointer = (path: JSONPath): string => path.map(escapePointerToken).join('');

/** A label, a control, its description on demand, and the faults of its value. */
export function FieldRow({ label, path, schema, required, wide, error, children }: FieldRowProps) {
  const id = useId();
  const pointer = pathPointer(path);
  const faults = useDocument((store) => store.faults).filter((fault) => fault.pointer === pointer);
  const isEditable = useDocument((store) => store.isEditable);
  const [isOpen, setOpen] = useState(false);
  const { description } = schema;
  const isInvalid = error !== undefined || faults.some(({ severity }) => severity === 'error');
  const described = error !== undefined || faults.length > 0;
  return (
    <div className="inspector-row" data-wide={wide}>
      <div className="inspector-label">
        <label htmlFor={id} title={description}>
          {label}
        </label>
        {required && (
          <span className="inspector-required" aria-hidden="true" title="required">
            *
          </span>
        )}
        {schema['x-live'] && (
          <span className="inspector-live" title="May change between the turns of an agent">
            live
          </span>
        )}
        {description && (
          <button
            type="button"
            className="inspector-about"
            aria-label={`About ${label}`}
            aria-expanded={isOpen}
            onClick={() => setOpen(!isOpen)}
          >
            ?
          </button>
        )}
      </div>
      <div className="inspector-control">
        {isOpen && (
          <p className="inspector-description">
            <CodeText text={description ?? ''} />
          </p>
        )}
        {children({
          id,
          'data-pointer': pointer,
          'aria-invalid': isInvalid || undefined,
          'aria-describedby': described ? `${id}faults` : undefined,
          disabled: !isEditable,
        })}
        {described && (
          <div className="inspector-faults" id={`${id}faults`}>
            {error !== undefined && <p data-severity="error">{error}</p>}
            {faults.map(({ message, severity }) => (
              <p key={message} data-severity={severity}>
                {message}
              </p>
            ))}
          </div>
        )}
      </div>
    </div>
  );
}
