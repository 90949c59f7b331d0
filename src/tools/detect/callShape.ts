import { parseJsonAt, type ParseResult } from '../json/lenientParser.ts';
import { isJsonObject, type JsonObject, type JsonValue } from '../json/value.ts';

/** The keys under which a format writes a call. */
export interface CallKeys {
  readonly name: string;
  readonly arguments: string;
}

/** What a call says. */
export interface ParsedCall {
  readonly name: string;
  readonly arguments: JsonObject;
  /** Whether arguments written as a string had to be read leniently. */
  readonly repaired: boolean;
}

/** How generously a value is taken for a call. */
export interface CallShapeOptions {
  /** Stands in a tag: the other formats' name keys count too. */
  readonly tagged: boolean;
  /** Arguments written as a string may be read leniently. */
  readonly lenient: boolean;
}

const nameKeys = ['name', 'tool', 'function'];
const argumentKeys = ['arguments', 'parameters', 'args', 'input'];
const metadataKeys: ReadonlySet<string> = new Set(['type', 'id', 'call_id', 'tool_call_id', 'index']);
const wrapperKeys = ['function', 'tool_calls', 'tool_call', 'function_call'];

/** The calls that a value says; none, unless the whole of it has the shape of calls. */
export function extractCalls(value: JsonValue, keys: CallKeys, options: CallShapeOptions): readonly ParsedCall[] {
  if (!isJsonObject(value)) return [];
  const wrapped = unwrapCall(value);
  if (wrapped === undefined) return [toCall(value, keys, options)].filter((call) => call !== undefined);
  const inner = wrapped.map((one) => extractCalls(one, keys, options));
  return inner.some((calls) => calls.length === 0) ? [] : inner.flat();
}

/** The arguments that a value stands for; undefined for a value that can be none. */
export function parseArguments(value: JsonValue | undefined, lenient: boolean): Omit<ParsedCall, 'name'> | undefined {
  const empty = value === undefined || value === null || value === '' || (Array.isArray(value) && value.length === 0);
  if (empty) return { arguments: new Map(), repaired: false };
  if (typeof value !== 'string') return isJsonObject(value) ? parsedCall(value, false) : undefined;
  const strict = wholeObject(value, parseObject(value, false));
  if (strict !== undefined || !lenient) return strict && parsedCall(strict, false);
  const repaired = wholeObject(value, parseObject(value, true));
  return repaired && parsedCall(repaired, true);
}

function unwrapCall(members: JsonObject): readonly JsonValue[] | undefined {
  const key = wrapperKeys.find((wrapper) => typeof members.get(wrapper) === 'object' && members.get(wrapper) !== null);
  if (key === undefined || [...members.keys()].some((other) => other !== key && !metadataKeys.has(other)))
    return undefined;
  const inner = members.get(key);
  return Array.isArray(inner) ? inner : [inner as JsonValue];
}

function toCall(members: JsonObject, keys: CallKeys, { tagged, lenient }: CallShapeOptions): ParsedCall | undefined {
  const nameKey = [keys.name, ...(tagged ? nameKeys : [])].find((key) => members.has(key));
  const argumentKey = [keys.arguments, ...argumentKeys].find((key) => members.has(key));
  if (nameKey === undefined) return undefined;
  const name = members.get(nameKey);
  const others = [...members.keys()].filter((key) => key !== nameKey && key !== argumentKey);
  if (typeof name !== 'string' || name.trim() === '' || others.some((key) => !metadataKeys.has(key))) return undefined;
  const given = parseArguments(argumentKey === undefined ? undefined : members.get(argumentKey), lenient);
  return given && { name, ...given };
}

const parseObject = (text: string, lenient: boolean): ParseResult => parseJsonAt(text, 0, { lenient });

const wholeObject = (text: string, read: ParseResult): JsonObject | undefined =>
  read.ok && isJsonObject(read.value) && text.slice(read.end).trim() === '' ? read.value : undefined;

const parsedCall = (members: JsonObject, repaired: boolean): Omit<ParsedCall, 'name'> | undefined =>
  isSchema(members) ? undefined : { arguments: members, repaired };

const schemaKeys: ReadonlySet<string> = new Set([
  '$schema',
  '$defs',
  'type',
  'title',
  'description',
  'properties',
  'required',
  'additionalProperties',
]);
const typeKeys = ['type', 'enum', 'anyOf', 'oneOf', '$ref'];

// Models repeat a tool's declaration; what they repeat is no call.
function isSchema(members: JsonObject): boolean {
  if (members.size === 0 || [...members.keys()].some((key) => !schemaKeys.has(key))) return false;
  const properties = members.get('properties');
  if (members.get('type') === 'object') return properties === undefined || isJsonObject(properties);
  if (properties === undefined || !isJsonObject(properties) || properties.size === 0) return false;
  return [...properties.values()].every(
    (property) => isJsonObject(property) && typeKeys.some((key) => property.has(key)),
  );
}
