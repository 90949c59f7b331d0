/** A function of objects that returns the same value for the same object: it is made once, and kept as long as the object. */
export function memoized<Key extends object, Value>(create: (key: Key) => Value): (key: Key) => Value {
  const values = new WeakMap<Key, Value>();
  return (key) => {
    if (!values.has(key)) values.set(key, create(key));
    return values.get(key) as Value;
  };
}

const maxResults = 1000;

/** A function that computes its result once for equal keys, of the last ones. @param keyOf what it depends on. */
export function memoizedByKey<Input, Result>(
  keyOf: (input: Input) => string | number,
  compute: (input: Input) => Result,
): (input: Input) => Result {
  const results = new Map<string | number, Result>();
  return (input) => {
    const key = keyOf(input);
    const known = results.get(key);
    if (known !== undefined) return known;
    const result = compute(input);
    if (results.size >= maxResults) results.clear();
    results.set(key, result);
    return result;
  };
}
