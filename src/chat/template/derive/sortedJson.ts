import { JsonNumber } from '../../json/value.ts';

/** JSON of a parsed value or of plain data, with sorted keys: equal values have equal texts. */
export function sortedJson(value: unknown): string {
  if (value instanceof JsonNumber) return value.digits;
  if (value instanceof Map) return sortedMembers([...(value as ReadonlyMap<string, unknown>)]);
  if (Array.isArray(value)) return `[${value.map(sortedJson).join()}]`;
  if (typeof value === 'object' && value !== null) return sortedMembers(Object.entries(value));
  return JSON.stringify(value);
}

const sortedMembers = (members: readonly (readonly [string, unknown])[]): string =>
  `{${members
    .map(([key, member]) => `${JSON.stringify(key)}:${sortedJson(member)}`)
    .sort()
    .join()}}`;
