import { matchingBranch, entryTitle, fieldForm } from './formModel.ts';
import { EntryActions, type EntryProps } from './EntryActions.tsx';
import { FieldGroup } from './FieldGroup.tsx';
import { Members } from './ObjectField.tsx';
import { AnyField } from './fieldProps.ts';
import { use } from 'react';

// A tool's parameter has twelve members, of which few are used.
const maxShown = 5;

/** An entry of a list that is an object, such as a tool, with the fields of its members. */
export function EntryCard(props: EntryProps) {
  const { list, index, name, schema, value } = props;
  const path = [...list, index];
  const ValueField = use(AnyField);
  const branch = matchingBranch(schema, value);
  return (
    <div className="inspector-entry inspector-card">
      <FieldGroup
        label={`${name} ${index + 1}`}
        path={path}
        schema={{}}
        note={entryTitle(value)}
        isOpen
        actions={<EntryActions {...props} />}
      >
        {fieldForm(schema, value).kind === 'object' ? (
          <Members schema={branch} value={value} path={path} maxShown={maxShown} />
        ) : (
          <ValueField name={`${name} ${index + 1}`} path={path} schema={schema} value={value} />
        )}
      </FieldGroup>
    </div>
  );
}
