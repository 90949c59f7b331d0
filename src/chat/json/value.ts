import { hasJsonType } from '../../base/jsonTypes.ts';

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

export const isJsonObject = (value: JsonValue): value is JsonObject => value instanceof Map;

export const isList = (value: JsonValue): value is readonly JsonValue[] => Array.isArray(value);

/** JSON of a parsed value or of plain data, spaced like Jinja's `tojson` (`{"a": 1, "b": 2}`), keys in their order. */
export function stringifyJson(value: unknown): string {
  if (value instanceof JsonNumber) return value.digits;
  if (Array.isArray(value)) return `[${value.map(stringifyJson).join(', ')}]`;
  if (typeof value !== 'object' || value === null) return JSON.stringify(value) ?? 'null';
  const members = membersOf(value).map(([key, member]) => `${JSON.stringify(key)}: ${stringifyJson(member)}`);
  return `{${members.join(', ')}}`;
}

/** The members of an object: a parsed one, or plain data. */
export const membersOf = (object: object): readonly (readonly [string, unknown])[] =>
  object instanceof Map ? [...(object as ReadonlyMap<string, unknown>)] : Object.entries(object);

/** Whether a parsed value has a type of JSON Schema; 3.0 is an integer. Of plain data: `hasJsonType` in src/base/jsonTypes.ts. */
export function isOfType(value: JsonValue, type: string): boolean {
  if (value instanceof JsonNumber)
    return type === 'number' || (type === 'integer' && /^-?\d+(?:\.0+)?$/.test(value.digits));
  return isJsonObject(value) ? type === 'object' : hasJsonType(value, type);
}

/** JSON with sorted keys: equal for equal values. @param numberText default: one notation, so 1.0 equals 1e0. */
export function canonicalJson(value: unknown, numberText = canonicalNumber): string {
  if (value instanceof JsonNumber) return numberText(value);
  if (Array.isArray(value)) return `[${value.map((item) => canonicalJson(item, numberText)).join()}]`;
  if (typeof value !== 'object' || value === null) return JSON.stringify(value);
  const members = membersOf(value).map(
    ([key, member]) => `${JSON.stringify(key)}:${canonicalJson(member, numberText)}`,
  );
  return `{${members.sort().join()}}`;
}

const numberParts = /^(-?)(\d+)(?:\.(\d+))?(?:[eE]([+-]?\d+))?$/;

// An exponent of more digits stays as it is written: reading one takes time quadratic in its length.
const maxExponentDigits = 15;

/** A number as its significant digits and an exponent: nothing is rounded. */
function canonicalNumber({ digits }: JsonNumber): string {
  const [, sign = '', whole = '', fraction = '', exponent = '0'] = numberParts.exec(digits) ?? [];
  if (exponent.length > maxExponentDigits) return digits;
  const all = whole + fraction;
  let end = all.length;
  while (all[end - 1] === '0') end--;
  const significant = all.slice(0, end).replace(/^0+/, '');
  return significant === '' ? '0' : `${sign}${significant}e${Number(exponent) + whole.length - end}`;
}
