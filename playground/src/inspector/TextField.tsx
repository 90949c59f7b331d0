import { useState } from 'react';
import { commitValue } from './commitValue.ts';
import { FieldRow } from './FieldRow.tsx';
import { defaultText, formatAny, parseAny } from './formModel.ts';
import { modelNamesId } from './ModelNames.tsx';
import type { FieldProps } from './fieldProps.ts';

/** Properties of a field for a text. */
export interface TextFieldProps extends FieldProps {
  /** `any`: JSON in one line, or a text without quotes. */
  readonly editor: 'line' | 'multiline' | 'model' | 'any';
}

/** A field for a text. One that is empty is not in the document, unless it is required. */
export function TextField({ name, path, schema, value, required = false, editor }: TextFieldProps) {
  const [draft, setDraft] = useState<string>();
  const shown = draft ?? (value === undefined ? '' : editor === 'any' ? formatAny(value) : String(value));
  const change = (text: string): void => {
    // What is typed of a number or a list is no JSON before it is complete.
    if (editor === 'any') setDraft(text);
    commitValue(path, text === '' && !required ? undefined : editor === 'any' ? parseAny(text) : text);
  };
  const isWide = editor === 'multiline';
  return (
    <FieldRow label={name} path={path} schema={schema} required={required}>
      {(control) =>
        isWide ? (
          <textarea
            {...control}
            className="inspector-multiline"
            rows={1}
            placeholder={defaultText(schema)}
            value={shown}
            onChange={(event) => change(event.target.value)}
          />
        ) : (
          <input
            {...control}
            type="text"
            spellCheck={false}
            autoComplete="off"
            list={editor === 'model' ? modelNamesId : undefined}
            placeholder={editor === 'model' ? 'default model' : defaultText(schema)}
            value={shown}
            onChange={(event) => change(event.target.value)}
            onBlur={() => setDraft(undefined)}
          />
        )
      }
    </FieldRow>
  );
}
