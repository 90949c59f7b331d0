import { argumentKeys, keysBeside, nameKeys, wrapperKeys } from '../whyNoCall.ts';
import type { ParsedObject } from '../../json/objectList.ts';
import type { DetectedCall } from '../../tool.ts';
import { parseJsonObject } from '../../json/lenientParser.ts';
import { isJsonObject, type JsonObject, type JsonValue } from '../../json/value.ts';

/** The JSON keys under which a format writes the name and the arguments of a call. */
export interface CallKeys {
  /** undefined: the name is itself the key of the arguments (`{"name": {...}}`). */
  readonly name: string | undefined;
  readonly arguments: string;
}

/** A call without the text that it was read from. */
export type ParsedCall = Omit<DetectedCall, 'raw' | 'confidence'>;

export type ParsedArguments = Pick<ParsedCall, 'arguments' | 'repaired'>;

/** How tolerant the check for the shape of a call is. */
export interface CallShapeOptions {
  /** The value is in a tag: the name keys of the other formats count too, and members that are none of a call are left aside. */
  readonly tagged: boolean;
  /** Without a tag the name keys of the other formats count, too. */
  readonly anyKeys?: boolean;
  /** Arguments that are a JSON string may be read by the lenient parser. */
  readonly lenient: boolean;
  /** A call may begin with a thought. */
  readonly thought: boolean;
}

/** The calls in a JSON value; empty unless the whole value has the shape of calls. */
export function extractCalls(value: JsonValue, keys: CallKeys, options: CallShapeOptions): readonly ParsedCall[] {
  if (!isJsonObject(value)) return [];
  const wrapped = unwrapCalls(value);
  if (wrapped === undefined) return [toCall(value, keys, options)].filter((call) => call !== undefined);
  const callsByValue = wrapped.map((inner) => extractCalls(inner, keys, options));
  return callsByValue.some((calls) => calls.length === 0) ? [] : callsByValue.flat();
}

/** The arguments in a JSON value: an object, a JSON string of one, or an empty value. undefined: the value is no arguments. */
export function parseArguments(value: JsonValue | undefined, lenient: boolean): ParsedArguments | undefined {
  const isEmpty = value === undefined || value === null || value === '' || (Array.isArray(value) && value.length === 0);
  if (isEmpty) return { arguments: new Map(), repaired: false };
  const strict = typeof value === 'string' ? parseJsonObject(value) : isJsonObject(value) ? value : undefined;
  const members = strict ?? (lenient && typeof value === 'string' ? parseJsonObject(value, true) : undefined);
  return members && !isSchema(members) ? { arguments: members, repaired: members !== strict } : undefined;
}

/** The values in a wrapper such as `{"tool_calls": [...]}`; undefined: there is no wrapper. */
function unwrapCalls(members: JsonObject): readonly JsonValue[] | undefined {
  const key = wrapperKeys.find((wrapper) => typeof members.get(wrapper) === 'object' && members.get(wrapper) !== null);
  if (key === undefined || keysBeside(members, key).length > 0) return undefined;
  const inner = members.get(key);
  return Array.isArray(inner) ? inner : [inner as JsonValue];
}

function toCall(members: JsonObject, keys: CallKeys, options: CallShapeOptions): ParsedCall | undefined {
  const { tagged, lenient } = options;
  if (keys.name === undefined) return toKeyedCall(members, options);
  const nameKey = [keys.name, ...(tagged || options.anyKeys ? nameKeys : [])].find((key) => members.has(key));
  const argumentKey = [keys.arguments, ...argumentKeys].find((key) => members.has(key));
  if (nameKey === undefined) return undefined;
  const name = members.get(nameKey);
  if (typeof name !== 'string' || name.trim() === '') return undefined;
  const [[firstKey, first] = []] = members;
  const thought = firstKey === thoughtKey && typeof first === 'string' ? first : undefined;
  const ownKey = options.thought && thought !== undefined ? thoughtKey : undefined;
  const others = keysBeside(members, nameKey, argumentKey, ownKey);
  if (others.length > 0 && !(tagged && argumentKey !== undefined && others.every(canBeLeftAside))) return undefined;
  const parsed = parseArguments(argumentKey === undefined ? undefined : members.get(argumentKey), lenient);
  if (parsed === undefined) return undefined;
  const repaired = parsed.repaired || others.length > 0;
  return { ...parsed, name, repaired, ...(thought !== undefined && { thought }) };
}

const thoughtKey = 'thought';

/** Whether a member is none of a call, and does not make something else of it: a declaration, or a call with two names. */
const canBeLeftAside = (key: string): boolean =>
  key !== 'description' && !nameKeys.includes(key) && !argumentKeys.includes(key) && !wrapperKeys.includes(key);

function toKeyedCall(members: JsonObject, { tagged, lenient }: CallShapeOptions): ParsedCall | undefined {
  const [[name, value] = ['', undefined]] = members;
  const isCall = tagged && members.size === 1 && name.trim() !== '' && value !== undefined && isJsonObject(value);
  const parsed = isCall ? parseArguments(value, lenient) : undefined;
  return parsed && { name, ...parsed };
}

const schemaKeys: ReadonlySet<string> = new Set(
  '$schema $defs type title description properties required additionalProperties'.split(' '),
);
const typeKeys = ['type', 'enum', 'anyOf', 'oneOf', '$ref'];

// Models sometimes repeat the declaration of a tool. Its JSON Schema is no arguments.
function isSchema(members: JsonObject): boolean {
  if (members.size === 0 || [...members.keys()].some((key) => !schemaKeys.has(key))) return false;
  const properties = members.get('properties');
  if (members.get('type') === 'object') return properties === undefined || isJsonObject(properties);
  if (properties === undefined || !isJsonObject(properties) || properties.size === 0) return false;
  return [...properties.values()].every(
    (property) => isJsonObject(property) && typeKeys.some((key) => property.has(key)),
  );
}

/** Calls and their range in the text; `end` is exclusive. */
export interface CallSpan {
  readonly calls: readonly DetectedCall[];
  /** Start of the tag before the calls; without a tag, of the calls themselves. */
  readonly start: number;
  /** Start of the calls themselves. */
  readonly rawStart: number;
  readonly end: number;
}

/** The calls of one kind (tagged or untagged) in a text, in its order. */
export interface CallSpans {
  readonly spans: readonly CallSpan[];
  /** Start of a call that the end of the text cuts off; undefined: none is. */
  readonly truncatedAt: number | undefined;
}

export const callSpans = (
  text: string,
  objects: readonly ParsedObject[],
  keys: CallKeys,
  options: CallShapeOptions,
): readonly CallSpan[] =>
  objects.flatMap((object) => {
    const calls = extractCalls(object.value, keys, options);
    return calls.length === 0 ? [] : [createCallSpan(text, object, calls)];
  });

/** The span of a JSON value that holds calls. */
export function createCallSpan(
  text: string,
  { start, end, repaired }: Omit<ParsedObject, 'value'>,
  parsedCalls: readonly ParsedCall[],
): CallSpan {
  const raw = text.slice(start, end);
  const calls = parsedCalls.map((call) => ({ ...call, raw, repaired: call.repaired || repaired }));
  return { calls, start, rawStart: start, end };
}
