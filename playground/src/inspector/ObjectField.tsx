import type { FieldSchema } from '../document/graphTypes.ts';
import { FieldGroup } from './FieldGroup.tsx';
import { orderedMembers } from './formModel.ts';
import { AnyField, type FieldProps } from './fieldProps.ts';
import type { JSONPath } from 'jsonc-parser';
import { use } from 'react';

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
}

/** The fields of all members of an object; also of those that the schema does not have. */
export function Members({ schema, value, path }: MembersProps) {
  const values = (value ?? {}) as Readonly<Record<string, unknown>>;
  const ValueField = use(AnyField);
  const members = orderedMembers(schema);
  const known = new Set(members.map(([name]) => name));
  const unknown = Object.keys(values).filter((name) => !known.has(name));
  return (
    <>
      {[...members, ...unknown.map((name) => [name, unknownMember] as const)].map(([name, member]) => (
        <ValueField
          key={`${path.join('/')}/${name}`}
          name={name}
          path={[...path, name]}
          schema={member}
          value={values[name]}
          required={schema.required?.includes(name) ?? false}
        />
      ))}
    </>
  );
}

const unknownMember: FieldSchema = {
  type: [],
  description: 'The schema does not have this member. Clear it to remove it.',
};
