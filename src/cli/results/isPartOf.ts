import { isObject } from '../../base/jsonTypes.ts';

/** Whether a value has all that is expected: objects may have more members, also inside of others; lists may not be longer. */
export function isPartOf(expected: unknown, actual: unknown): boolean {
  if (Array.isArray(expected)) {
    if (!Array.isArray(actual) || actual.length !== expected.length) return false;
    return expected.every((item, index) => isPartOf(item, actual[index]));
  }
  if (!isObject(expected)) return expected === actual;
  if (!isObject(actual)) return false;
  return Object.entries(expected).every(
    ([name, value]) => Object.hasOwn(actual, name) && isPartOf(value, actual[name]),
  );
}
