import type { FieldSchema } from '../document/graphTypes.ts';
import { FieldGroup } from './FieldGroup.tsx';
import { orderedMembers } from './formModel.ts';
import { AnyField, type FieldProps } from './fieldProps.ts';
import type { JSONPath } from 'jsonc-parser';
import { use, useState } from 'react';

/** A field for an object with known members, which opens on demand. */
export function ObjectField({ name, path, schema, value, required = false }: FieldProps) {
  const count = Object.keys(value ?? {}).length;
  return (
    <FieldGroup
      label={name}
      path={path}
      schema={schema}
      required={required}
      note={count === 0 ? 'not set' : `${count} set`}
    >
      <Members schema={schema} value={value} path={path} />
    </FieldGroup>
  );
}

/** Properties of the members of an object. */
export interface MembersProps {
  readonly schema: FieldSchema;
  readonly value: unknown;
  readonly path: JSONPath;
  /** How many members are shown at once, besides those that have a value; the others open on demand. */
  readonly maxShown?: number;
}

/** The fields of all members of an object; also of those that the schema does not have. */
export function Members({ schema, value, path, maxShown = Number.POSITIVE_INFINITY }: MembersProps) {
  const values = (value ?? {}) as Readonly<Record<string, unknown>>;
  const ValueField = use(AnyField);
  const members = orderedMembers(schema);
  const known = new Set(members.map(([name]) => name));
  const unknown = Object.keys(values).filter((name) => !known.has(name));
  // Fixed when it opens: a field that moves while it is edited would lose the focus.
  const [shown] = useState(
    () =>
      new Set(members.filter(([name], index) => index < maxShown || values[name] !== undefined).map(([name]) => name)),
  );
  const field = ([name, member]: readonly [string, FieldSchema]) => (
    <ValueField
      key={`${path.join('/')}/${name}`}
      name={name}
      path={[...path, name]}
      schema={member}
      value={values[name]}
      required={schema.required?.includes(name) ?? false}
    />
  );
  const isShown = ([name]: readonly [string, FieldSchema]): boolean =>
    shown.has(name) || maxShown === Number.POSITIVE_INFINITY;
  const hidden = members.filter((member) => !isShown(member));
  return (
    <>
      {members.filter(isShown).map(field)}
      {unknown.map((name) => field([name, unknownMember]))}
      {hidden.length > 0 && (
        <details className="inspector-more">
          <summary>{`More: ${hidden.map(([name]) => name).join(', ')}`}</summary>
          <div className="inspector-entries">{hidden.map(field)}</div>
        </details>
      )}
    </>
  );
}

const unknownMember: FieldSchema = {
  type: [],
  description: 'The schema does not have this member. Clear it to remove it.',
};
