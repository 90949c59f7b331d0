import { describeError, malformed } from '../fault.ts';
import { frameReader } from './frameReader.ts';
import { jsonValueEncoding, unknownMember, wrongType } from './json.ts';
import { isPlainObject, isWellFormed } from './wellFormed.ts';
import type { ClientFrame } from '../frames.gen.ts';
import type { Fields } from './frame.ts';

/**
 * Creates the frame of a request from the values of a program, by the rules by which a server reads JSON. Only undefined
 * means absent: null, class instances and numbers out of range are errors, because an encoder would lose them.
 * @throws Fault MALFORMED_MESSAGE with the path, UNKNOWN_MESSAGE_TYPE
 */
export const requestFrame = (requestId: number, name: string, fields: unknown): ClientFrame =>
  read({ requestId, [name]: fields });

/**
 * The options of a method. @throws Fault MALFORMED_MESSAGE for a value that is no object, and for an option that is not
 * in `known`.
 */
export function readOptions(method: string, options: unknown, known: ReadonlySet<string>): Fields {
  const members = plainObject(options, `the options of ${method}`);
  const unknown = unknownMember(members, known, method);
  if (unknown) throw malformed(`${unknown.place} is not known here${unknown.hint}`);
  return members;
}

function plainObject(value: unknown, path: string): Fields {
  if (isPlainObject(value)) return value;
  const isInstance = typeof value === 'object' && value !== null && !Array.isArray(value);
  throw wrongType(path, isInstance ? 'a plain object' : 'an object', value);
}

const read = frameReader(
  'ClientFrame',
  jsonValueEncoding({
    isSet: (value) => value !== undefined,
    object: plainObject,
    list(value, path) {
      // Without holes: map() would keep them.
      if (Array.isArray(value)) return [...(value as readonly unknown[])];
      throw wrongType(path, 'a list', value);
    },
    documentText,
  }),
);

interface Place {
  readonly value: object;
  readonly path: string;
}

/**
 * A document, such as a graph, as JSON text. Members that are undefined are absent; other values that JSON.stringify
 * would drop or replace are errors.
 * @throws Fault MALFORMED_MESSAGE with the path
 */
export function documentText(document: unknown, path: string): string {
  // The objects around the current value, outermost first.
  const around: Place[] = [];

  function check(this: object, key: string, value: unknown): unknown {
    while (around.length > 0 && around.at(-1)?.value !== this) around.pop();
    const parent = around.at(-1);
    const valuePath = () => (parent ? pathOf(parent, key) : path);
    if (value === undefined && parent && !Array.isArray(this)) return undefined;
    const expected = writableInstead(value);
    if (expected !== undefined) throw wrongType(valuePath(), expected, value);
    if (typeof value === 'string' && !isWellFormed(value)) {
      throw malformed(`${valuePath()} must not hold half of a surrogate pair`);
    }
    if (typeof value === 'object' && value !== null) around.push({ value, path: valuePath() });
    return value;
  }

  try {
    return JSON.stringify(document, check);
  } catch (thrown) {
    if (thrown instanceof RangeError) throw malformed(`${path} nests too deeply`, thrown);
    if (!(thrown instanceof TypeError)) throw thrown;
    // A cycle; the further lines of the message draw it.
    throw malformed(`${path} cannot be written as JSON: ${describeError(thrown).split('\n')[0]}`, thrown);
  }
}

// What is expected instead of a value that JSON.stringify drops, replaces or refuses; undefined for any other.
function writableInstead(value: unknown): string | undefined {
  if (typeof value === 'number') return Number.isFinite(value) ? undefined : 'a finite number';
  if (typeof value === 'object' && value !== null) {
    // A Map or a typed array would become {}; the fields of other classes are written.
    const isWritten = Array.isArray(value) || Object.prototype.toString.call(value) === '[object Object]';
    return isWritten ? undefined : 'a plain object';
  }
  return ['undefined', 'function', 'symbol', 'bigint'].includes(typeof value) ? 'a JSON value' : undefined;
}

const pathOf = (parent: Place, key: string): string =>
  Array.isArray(parent.value) ? `${parent.path}[${key}]` : `${parent.path}.${key}`;
