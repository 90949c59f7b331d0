/** A number as it was written: nothing is rounded. */
export class Numeral {
  readonly digits: string;

  /** @param digits a number in JSON's grammar. */
  constructor(digits: string) {
    this.digits = digits;
  }
}

/** A JSON object with its keys in order; a map, because a model may write any key, `__proto__` too. */
export type Members = ReadonlyMap<string, Value>;

/** A JSON value out of a model's text. */
export type Value = null | boolean | string | Numeral | readonly Value[] | Members;

/** Whether a value is an object. */
export const isMembers = (value: Value): value is Members => value instanceof Map;

/** The JSON text of a value out of a text, or of plain data; spaced as Jinja's tojson does, keys in their order. */
export function jsonText(value: unknown): string {
  if (value instanceof Numeral) return value.digits;
  if (value instanceof Map) return objectText([...(value as Members)]);
  if (Array.isArray(value)) return `[${value.map(jsonText).join(', ')}]`;
  if (typeof value === 'object' && value !== null) return objectText(Object.entries(value));
  return JSON.stringify(value) ?? 'null';
}

const objectText = (members: readonly (readonly [string, unknown])[]): string =>
  `{${members.map(([key, member]) => `${JSON.stringify(key)}: ${jsonText(member)}`).join(', ')}}`;

/** Whether a value is of a type of JSON Schema: 3.0 is an integer too. */
export function isOfType(value: Value, type: string): boolean {
  switch (type) {
    case 'integer':
      return value instanceof Numeral && /^-?\d+(?:\.0+)?$/.test(value.digits);
    case 'number':
      return value instanceof Numeral;
    case 'object':
      return isMembers(value);
    case 'array':
      return Array.isArray(value);
    case 'null':
      return value === null;
    default:
      return typeof value === type;
  }
}
