/** A JSON number with the digits as they were written, so that nothing is rounded. */
export class JsonNumber {
  readonly digits: string;

  /** @param digits a number in the syntax of JSON. */
  constructor(digits: string) {
    this.digits = digits;
  }
}

/** A JSON object with its keys in order. A map, because a model may write any key, including `__proto__`. */
export type JsonObject = ReadonlyMap<string, JsonValue>;

/** A JSON value that was parsed from a model's text. */
export type JsonValue = null | boolean | string | JsonNumber | readonly JsonValue[] | JsonObject;

/** Whether a value is an object. */
export const isJsonObject = (value: JsonValue): value is JsonObject => value instanceof Map;

/** JSON of a parsed value or of plain data, spaced like Jinja's `tojson` (`{"a": 1, "b": 2}`), keys in their order. */
export function stringifyJson(value: unknown): string {
  if (value instanceof JsonNumber) return value.digits;
  if (value instanceof Map) return stringifyMembers([...(value as JsonObject)]);
  if (Array.isArray(value)) return `[${value.map(stringifyJson).join(', ')}]`;
  if (typeof value === 'object' && value !== null) return stringifyMembers(Object.entries(value));
  return JSON.stringify(value) ?? 'null';
}

const stringifyMembers = (members: readonly (readonly [string, unknown])[]): string =>
  `{${members.map(([key, member]) => `${JSON.stringify(key)}: ${stringifyJson(member)}`).join(', ')}}`;

/** Whether a parsed value has a type of JSON Schema; 3.0 is an integer. Of plain data: `hasJsonType` in src/base/jsonTypes.ts. */
export function isOfType(value: JsonValue, type: string): boolean {
  switch (type) {
    case 'integer':
      return value instanceof JsonNumber && /^-?\d+(?:\.0+)?$/.test(value.digits);
    case 'number':
      return value instanceof JsonNumber;
    case 'object':
      return isJsonObject(value);
    case 'array':
      return Array.isArray(value);
    case 'null':
      return value === null;
    default:
      return typeof value === type;
  }
}
