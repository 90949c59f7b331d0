import { isJsonObject, stringifyJson, type JsonValue } from './value.ts';

/** JSON with sorted keys, so that equal values have equal texts. */
export function canonicalJson(value: JsonValue): string {
  if (isJsonObject(value)) {
    const members = [...value].map(([key, member]) => `${JSON.stringify(key)}:${canonicalJson(member)}`);
    return `{${members.sort().join()}}`;
  }
  return Array.isArray(value) ? `[${value.map(canonicalJson).join()}]` : stringifyJson(value);
}
