import type { Fields } from '../protocol/codec/frame.ts';
import { isObject } from '../base/jsonTypes.ts';
import { wrongType, readOptions } from '../protocol/codec/json.ts';
import { malformed } from '../protocol/fault.ts';

type OptionCheck = (value: unknown, path: string) => void;

/** A timer of the platform expires at once after a longer delay. */
export const maxTimeoutMs = 0x7fff_ffff;

/** A check of an option by what it must be, in words, and a test. */
const mustBe =
  (expected: string, isRight: (value: unknown) => boolean): OptionCheck =>
  (value, path) => {
    if (!isRight(value)) throw wrongType(path, expected, value);
  };

/** The checks of options that several methods have. */
export const checks = {
  /** An option of the request itself, which its frame checks. */
  field: () => {},
  graph: mustBe('an object or JSON text', (value) => typeof value === 'string' || isObject(value)),
  history: mustBe('a list or JSON text', (value) => typeof value === 'string' || Array.isArray(value)),
  params: mustBe('an object', isObject),
  lifespan: mustBe('"TURN" or "DIALOG"', (value) => value === 'TURN' || value === 'DIALOG'),
  switch: mustBe('true or false', (value) => typeof value === 'boolean'),
  count: mustBe(
    'a whole number from 1',
    (value) => value === Infinity || (Number.isInteger(value) && Number(value) > 0),
  ),
  list: mustBe('a list', Array.isArray),
  tools: mustBe('a list of tools, or an executor', (value) => Array.isArray(value) || isExecutor(value)),
  callback: mustBe('a function', (value) => typeof value === 'function'),
  codec: mustBe('"proto" or "json"', (value) => value === 'proto' || value === 'json'),
  switchOrOptions: mustBe('a boolean or an object', (value) => typeof value === 'boolean' || isObject(value)),
  webSocketClass: mustBe('a class', (value) => typeof value === 'function'),
  string: mustBe('a string', (value) => typeof value === 'string'),
  // What it is stays out of the error.
  token(value: unknown, path: string): void {
    if (typeof value !== 'string') throw wrongType(path, 'a string', value);
    if (/\p{Cc}/u.test(value)) throw malformed(`${path} has a line break or another control character; remove it`);
  },
  signal: mustBe('an AbortSignal', isAbortSignal),
  timeoutMs: mustBe(
    `a number of milliseconds from 0 to ${maxTimeoutMs}`,
    (value) => typeof value === 'number' && value >= 0 && value <= maxTimeoutMs,
  ),
} as const satisfies Readonly<Record<string, OptionCheck>>;

/** A callback that has no promise to reject: what it throws is logged. */
export const logged =
  <Value>(name: string, callback: ((value: Value) => void) | undefined) =>
  (value: Value): void => {
    try {
      callback?.(value);
    } catch (thrown) {
      console.error(`${name} threw`, thrown);
    }
  };

/**
 * Creates the check of a method's options: none is misspelt, and each has its type. Undefined means absent.
 * @returns a function that throws a Fault MALFORMED_MESSAGE with the path, such as `createAgent.timeoutMs`.
 */
export function optionsCheck<Options extends object>(
  method: string,
  optionChecks: { readonly [Name in keyof Required<Options>]: OptionCheck },
): (options: Options) => void {
  const known = new Set(Object.keys(optionChecks));
  const entries = Object.entries<OptionCheck>(optionChecks);
  return (options) => {
    const values: Fields = readOptions(method, options, known);
    for (const [name, check] of entries) {
      if (values[name] !== undefined) check(values[name], `${method}.${name}`);
    }
  };
}

const isExecutor = (value: unknown): boolean => isObject(value) && typeof value['begin'] === 'function';

// Not instanceof: a signal may come from another window or from a polyfill.
function isAbortSignal(value: unknown): boolean {
  return isObject(value) && ['aborted', 'addEventListener', 'reason'].every((name) => name in value);
}
