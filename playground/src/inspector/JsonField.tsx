import { useState } from 'react';
import { commitValue } from './commitValue.ts';
import { FieldRow } from './FieldRow.tsx';
import { parseJson } from './formModel.ts';
import type { FieldProps } from './fieldProps.ts';

/** A field for any other value, as JSON. What is no JSON yet is not put into the document. */
export function JsonField({ name, path, schema, value, required = false }: FieldProps) {
  const [draft, setDraft] = useState<string>();
  const parsed = draft === undefined || draft.trim() === '' ? undefined : parseJson(draft);
  const error = parsed && 'error' in parsed ? parsed.error : undefined;
  const change = (text: string): void => {
    setDraft(text);
    const result = parseJson(text);
    if (text.trim() === '') commitValue(path, undefined);
    else if ('value' in result) commitValue(path, result.value);
  };
  return (
    <FieldRow label={name} path={path} schema={schema} required={required} error={error}>
      {(control) => (
        <textarea
          {...control}
          className="inspector-multiline mono"
          rows={1}
          spellCheck={false}
          placeholder="JSON"
          value={draft ?? (value === undefined ? '' : JSON.stringify(value, null, 2))}
          onChange={(event) => change(event.target.value)}
          onBlur={() => error === undefined && setDraft(undefined)}
        />
      )}
    </FieldRow>
  );
}
