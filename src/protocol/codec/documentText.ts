import { describeError } from '../fault.ts';
import { malformed } from './frameReader.ts';
import { wrongType } from './jsonEncoding.ts';
import { isWellFormed } from './wellFormed.ts';

/** A value inside a document, and its path. */
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
