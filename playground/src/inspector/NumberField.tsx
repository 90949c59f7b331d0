import { useState } from 'react';
import { commitValue } from './commitValue.ts';
import { FieldRow } from './FieldRow.tsx';
import { boundsText, defaultText } from './formModel.ts';
import type { FieldProps } from './fieldProps.ts';

/** A field for a number, with its bounds. One that is empty is not in the document. */
export function NumberField({ name, path, schema, value, required = false }: FieldProps) {
  const [draft, setDraft] = useState<string>();
  const isNumber = draft === undefined || draft.trim() === '' || Number.isFinite(Number(draft));
  const change = (text: string): void => {
    setDraft(text);
    if (text.trim() === '') commitValue(path, undefined);
    else if (Number.isFinite(Number(text))) commitValue(path, Number(text));
  };
  const hint = [defaultText(schema) && `default ${defaultText(schema)}`, boundsText(schema)].filter(Boolean).join(', ');
  return (
    <FieldRow
      label={name}
      path={path}
      schema={schema}
      required={required}
      error={isNumber ? undefined : 'This is no number.'}
    >
      {(control) => (
        <input
          {...control}
          className="inspector-number"
          type="text"
          inputMode="decimal"
          autoComplete="off"
          placeholder={hint}
          value={draft ?? (value === undefined ? '' : String(value))}
          onChange={(event) => change(event.target.value)}
          onBlur={() => setDraft(undefined)}
        />
      )}
    </FieldRow>
  );
}
