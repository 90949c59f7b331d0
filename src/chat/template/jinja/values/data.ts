import { Callable, Dict, Float, type Value } from './values.ts';

/** A value of a template, with the length of what it contains, in characters. */
export interface ConvertedData {
  readonly value: Value;
  readonly size: number;
}

/**
 * Plain data as a value of a template: a number without a fraction is an int; a function takes and returns texts.
 * @throws Error for data that is no JSON and no function, or too deep.
 */
export function fromData(data: unknown, depth = 0): ConvertedData {
  if (depth > maxDataDepth) throw new Error(`the messages or tools nest data more than ${maxDataDepth} times`);
  if (data === null || data === undefined) return { value: null, size: 1 };
  if (typeof data === 'boolean') return { value: data, size: 1 };
  if (typeof data === 'string') return { value: data, size: data.length };
  if (typeof data === 'number') return { value: isInt(data) ? data : new Float(data), size: 1 };
  if (typeof data === 'function') return { value: fromFunction(data as TemplateFunction), size: 1 };
  let size = 1;
  const convert = (member: unknown): Value => {
    const converted = fromData(member, depth + 1);
    size += converted.size;
    return converted.value;
  };
  if (Array.isArray(data)) return { value: data.map(convert), size };
  if (typeof data !== 'object') throw new Error(`a template cannot have a ${typeof data}`);
  const dict = new Dict();
  for (const [key, member] of Object.entries(data)) {
    size += key.length;
    if (member !== undefined) dict.set(key, convert(member));
  }
  return { value: dict, size };
}

// JavaScript writes a larger integer with an exponent, which makes it a float.
const isInt = (number: number): boolean => Number.isInteger(number) && Math.abs(number) < 1e21;

const maxDataDepth = 100;

type TemplateFunction = (...args: readonly unknown[]) => unknown;

const fromFunction = (run: TemplateFunction): Value =>
  new Callable(run.name, ({ positional }) => fromData(run(...positional)).value);
