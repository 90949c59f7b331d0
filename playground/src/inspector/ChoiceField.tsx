import { commitValue } from './commitValue.ts';
import { FieldRow } from './FieldRow.tsx';
import { defaultText } from './formModel.ts';
import type { FieldProps } from './fieldProps.ts';

/** Properties of a field for one of some values. */
export interface ChoiceFieldProps extends FieldProps {
  readonly values: readonly unknown[];
}

const label = (value: unknown): string => (value === '' ? '(empty)' : String(value));

/** A field for one of some values. The first choice is the default: then the document has no value. */
export function ChoiceField({ name, path, schema, value, required = false, values }: ChoiceFieldProps) {
  const index = values.indexOf(value);
  const isUnknown = value !== undefined && index < 0;
  const defaultValue = defaultText(schema);
  return (
    <FieldRow label={name} path={path} schema={schema} required={required}>
      {(control) => (
        <select
          {...control}
          className="inspector-choice"
          data-unset={value === undefined}
          value={isUnknown ? 'unknown' : index}
          onChange={(event) => commitValue(path, values[Number(event.target.value)])}
        >
          {(!required || value === undefined) && (
            <option value={-1}>{defaultValue === '' ? 'not set' : `default: ${defaultValue}`}</option>
          )}
          {isUnknown && <option value="unknown">{label(value)}</option>}
          {values.map((one, position) => (
            <option key={String(one)} value={position}>
              {label(one)}
            </option>
          ))}
        </select>
      )}
    </FieldRow>
  );
}
