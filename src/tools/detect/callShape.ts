import { readValue, type Read } from '../json/lenientParser.ts';
import { isMembers, type Members, type Value } from '../json/value.ts';

/** The keys under which a format writes a call. */
export interface CallKeys {
  readonly name: string;
  readonly arguments: string;
}

/** What a call says. */
export interface Said {
  readonly name: string;
  readonly arguments: Members;
  /** Whether arguments written as a string had to be read leniently. */
  readonly repaired: boolean;
}

/** How generously a value is taken for a call. */
export interface ShapeOptions {
  /** Stands in a tag: the other formats' name keys count too. */
  readonly tagged: boolean;
  /** Arguments written as a string may be read leniently. */
  readonly lenient: boolean;
}

const nameKeys = ['name', 'tool', 'function'];
const argumentKeys = ['arguments', 'parameters', 'args', 'input'];
const sideKeys: ReadonlySet<string> = new Set(['type', 'id', 'call_id', 'tool_call_id', 'index']);
const wrapperKeys = ['function', 'tool_calls', 'tool_call', 'function_call'];

/** The calls that a value says; none, unless the whole of it has the shape of calls. */
export function callsIn(value: Value, keys: CallKeys, options: ShapeOptions): readonly Said[] {
  if (!isMembers(value)) return [];
  const wrapped = unwrap(value);
  if (wrapped === undefined) return [callOf(value, keys, options)].filter((call) => call !== undefined);
  const inner = wrapped.map((one) => callsIn(one, keys, options));
  return inner.some((calls) => calls.length === 0) ? [] : inner.flat();
}

/** The arguments that a value stands for; undefined for a value that can be none. */
export function argumentsOf(value: Value | undefined, lenient: boolean): Omit<Said, 'name'> | undefined {
  const empty = value === undefined || value === null || value === '' || (Array.isArray(value) && value.length === 0);
  if (empty) return { arguments: new Map(), repaired: false };
  if (typeof value !== 'string') return isMembers(value) ? checked(value, false) : undefined;
  const strict = wholeObject(value, readObject(value, false));
  if (strict !== undefined || !lenient) return strict && checked(strict, false);
  const repaired = wholeObject(value, readObject(value, true));
  return repaired && checked(repaired, true);
}

function unwrap(members: Members): readonly Value[] | undefined {
  const key = wrapperKeys.find((wrapper) => typeof members.get(wrapper) === 'object' && members.get(wrapper) !== null);
  if (key === undefined || [...members.keys()].some((other) => other !== key && !sideKeys.has(other))) return undefined;
  const inner = members.get(key);
  return Array.isArray(inner) ? inner : [inner as Value];
}

function callOf(members: Members, keys: CallKeys, { tagged, lenient }: ShapeOptions): Said | undefined {
  const nameKey = [keys.name, ...(tagged ? nameKeys : [])].find((key) => members.has(key));
  const argumentKey = [keys.arguments, ...argumentKeys].find((key) => members.has(key));
  if (nameKey === undefined) return undefined;
  const name = members.get(nameKey);
  const others = [...members.keys()].filter((key) => key !== nameKey && key !== argumentKey);
  if (typeof name !== 'string' || name.trim() === '' || others.some((key) => !sideKeys.has(key))) return undefined;
  const given = argumentsOf(argumentKey === undefined ? undefined : members.get(argumentKey), lenient);
  return given && { name, ...given };
}

const readObject = (text: string, lenient: boolean): Read => readValue(text, 0, { lenient });

const wholeObject = (text: string, read: Read): Members | undefined =>
  read.ok && isMembers(read.value) && text.slice(read.end).trim() === '' ? read.value : undefined;

const checked = (members: Members, repaired: boolean): Omit<Said, 'name'> | undefined =>
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
function isSchema(members: Members): boolean {
  if (members.size === 0 || [...members.keys()].some((key) => !schemaKeys.has(key))) return false;
  const properties = members.get('properties');
  if (members.get('type') === 'object') return properties === undefined || isMembers(properties);
  if (properties === undefined || !isMembers(properties) || properties.size === 0) return false;
  return [...properties.values()].every((property) => isMembers(property) && typeKeys.some((key) => property.has(key)));
}
