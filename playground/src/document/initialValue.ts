import type { FieldSchema, NodeTypeSchema } from './graphTypes.ts';

/** The members of a new node: its type, and the parameters that it must have, as empty as they can be. */
export function initialNode({ type, params }: NodeTypeSchema): object {
  const required = requiredMembers(params, '', 1);
  return { type, ...(Object.keys(required).length > 0 && { params: required }) };
}

/**
 * The value of a new entry of a list or of a new object, with the members that it must have.
 * @param name the parameter that contains it; names in it are made from it (`tools`: `tool_1`).
 * @param number the number of the entry, from 1.
 */
export function initialValue(schema: FieldSchema, name: string, number: number): unknown {
  const [branch = schema] = schema.anyOf ?? [];
  if (branch !== schema) return initialValue(branch, name, number);
  if (schema.enum) return schema.enum[0];
  switch (schema.type) {
    case 'object':
      return requiredMembers(schema, name, number);
    case 'array':
      return [];
    case 'boolean':
      return false;
    case 'integer':
    case 'number':
      return schema.minimum ?? 0;
    default:
      return '';
  }
}

/** The word for one entry of a list: `tools` gives `tool`. */
export const singular = (name: string): string => name.replace(/ies$/, 'y').replace(/s$/, '');

function requiredMembers({ properties = {}, required = [] }: FieldSchema, name: string, number: number): object {
  const members = required.map((member) => {
    const value =
      member === 'name' && name !== ''
        ? `${singular(name)}_${number}`
        : initialValue(properties[member] ?? {}, member, 1);
    return [member, value] as const;
  });
  return Object.fromEntries(members);
}
