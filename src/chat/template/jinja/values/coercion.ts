import { Callable, Dict, Float, Generator, Tuple, typeName, Undefined, type Value, View } from './values.ts';

/**
 * Plain data as a value: whole numbers are ints, functions take and return texts.
 * @param onSize receives the size of each part: its characters, or 1.
 * @throws Error for other data.
 */
export function fromData(data: unknown, onSize: (size: number) => void = () => undefined, depth = 0): Value {
  if (depth > maxDataDepth) throw new Error(`the messages or tools nest data more than ${maxDataDepth} times`);
  onSize(typeof data === 'string' ? data.length : 1);
  if (data === null || data === undefined) return null;
  if (typeof data === 'boolean' || typeof data === 'string') return data;
  if (typeof data === 'number') return isInt(data) ? data : new Float(data);
  if (typeof data === 'function') return fromFunction(data as TemplateFunction);
  const convert = (member: unknown): Value => fromData(member, onSize, depth + 1);
  if (Array.isArray(data)) return data.map(convert);
  if (typeof data !== 'object') throw new Error(`a template cannot have a ${typeof data}`);
  const dict = new Dict();
  for (const [key, member] of Object.entries(data)) {
    onSize(key.length);
    if (member !== undefined) dict.set(key, convert(member));
  }
  return dict;
}

// JavaScript writes a larger integer with an exponent, which makes it a float.
const isInt = (number: number): boolean => Number.isInteger(number) && Math.abs(number) < 1e21;

const maxDataDepth = 100;

type TemplateFunction = (...args: readonly unknown[]) => unknown;

const fromFunction = (run: TemplateFunction): Value =>
  new Callable(run.name, ({ positional }) => fromData(run(...positional)));

/** Whether a condition on the value holds. */
export function isTrue(value: Value): boolean {
  if (value === null || value instanceof Undefined) return false;
  if (value instanceof Float) return value.value !== 0;
  const count = countOf(value);
  return count === undefined ? typeof value === 'object' || Boolean(value) : count > 0;
}

/** The items of a value that can be iterated: characters of a string, keys of a dict. */
export function tryIterate(value: Value): readonly Value[] | undefined {
  if (typeof value === 'string') return [...value];
  if (Array.isArray(value)) return value;
  if (value instanceof Tuple || value instanceof View) return value.items;
  if (value instanceof Dict) return value.keys();
  if (value instanceof Generator) return value.take();
  return value instanceof Undefined ? [] : undefined;
}

/** @throws Error when the value cannot be iterated. */
export function iterate(value: Value): readonly Value[] {
  const items = tryIterate(value);
  if (!items) throw new Error(`'${typeName(value)}' object is not iterable`);
  return items;
}

/** @throws Error for an undefined value. */
export function requireDefined(value: Value): Exclude<Value, Undefined> {
  if (value instanceof Undefined) throw new Error(value.reason);
  return value;
}

/** The number that a value is in arithmetic, where it is one. */
export function numberOf(value: Value): number | undefined {
  if (typeof value === 'number') return value;
  if (typeof value === 'boolean') return Number(value);
  return value instanceof Float ? value.value : undefined;
}

/** @throws Error when the value is no integer. */
export function integerOf(value: Value): number {
  if (typeof value === 'number') return value;
  if (typeof value === 'boolean') return Number(value);
  throw new Error(`'${typeName(requireDefined(value))}' object cannot be interpreted as an integer`);
}

/** @throws Error when the value is no string. */
export function stringOf(value: Value): string {
  if (typeof value !== 'string') throw new Error(`expected str, not ${typeName(requireDefined(value))}`);
  return value;
}

/** A value, or undefined with a reason where there is none; null is a value. */
export const orUndefined = (value: Value | undefined, reason: string): Value =>
  value === undefined ? new Undefined(reason) : value;

/** How many items, entries or UTF-16 units a value has; undefined: it has no length. */
export function countOf(value: Value): number | undefined {
  if (typeof value === 'string' || Array.isArray(value)) return value.length;
  if (value instanceof Tuple || value instanceof View) return value.items.length;
  return value instanceof Dict ? value.size : undefined;
}

/** The work of reading a value once, in steps of the budget; what it contains is not counted. */
export const sizeOf = (value: Value): number => (countOf(value) ?? 0) / (typeof value === 'string' ? 4 : 1);

/** @throws Error when the value is no number. */
export function requireNumber(value: Value): number {
  const number = numberOf(requireDefined(value));
  if (number === undefined) throw new Error(`'${typeName(value)}' is not a number`);
  return number;
}
