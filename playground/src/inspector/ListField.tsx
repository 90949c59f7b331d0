import { useRef } from 'react';
import { Button } from '../ui/Button.tsx';
import type { FieldSchema } from '../document/graphTypes.ts';
import { useDocument } from '../document/documentStore.ts';
import { initialValue, singular } from '../document/initialValue.ts';
import { commitInsert } from './commitValue.ts';
import { EntryCard } from './EntryCard.tsx';
import { EntryRow } from './EntryRow.tsx';
import { FieldGroup } from './FieldGroup.tsx';
import { fieldForm } from './formModel.ts';
import type { FieldProps } from './fieldProps.ts';

/** Properties of a field for a list. */
export interface ListFieldProps extends FieldProps {
  readonly items: FieldSchema;
  /** The most entries that it may have. */
  readonly max: number;
}

/** A field for a list: a row for each text, a card for each object. */
export function ListField({ name, path, schema, value, required = false, items, max }: ListFieldProps) {
  const list = (value ?? []) as readonly unknown[];
  const isEditable = useDocument((store) => store.isEditable);
  const body = useRef<HTMLDivElement>(null);
  const entry = singular(name.replace(/^inline_/, ''));
  const add = (): void => {
    const initial = initialValue(items, name, list.length + 1);
    commitInsert(path, list.length, initial);
    // After the new entry is in the page.
    setTimeout(() => {
      const entries = body.current?.querySelectorAll(':scope > .inspector-entry');
      const field = entries
        ?.item(entries.length - 1)
        ?.querySelector<HTMLInputElement | HTMLTextAreaElement>('input, textarea');
      field?.focus();
      field?.select();
    });
  };
  const actions = (
    <Button size="small" icon="add" disabled={!isEditable || list.length >= max} onClick={add}>
      {`Add ${entry}`}
    </Button>
  );
  return (
    <FieldGroup
      label={name}
      path={path}
      schema={schema}
      required={required}
      note={String(list.length)}
      isOpen={required || list.length > 0 || path.length <= 4 || fieldForm(items, undefined).kind === 'object'}
      actions={undefined}
    >
      <div className="inspector-entries" ref={body}>
        {list.map((item, index) => {
          const props = { key: index, list: path, index, count: list.length, name: entry, schema: items, value: item };
          const { kind } = fieldForm(items, item);
          return kind === 'object' || kind === 'json' || kind === 'list' ? (
            <EntryCard {...props} key={index} />
          ) : (
            <EntryRow {...props} key={index} />
          );
        })}
      </div>
      {actions}
    </FieldGroup>
  );
}
