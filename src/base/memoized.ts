/** A function of objects that returns the same value for the same object: it is made once, and kept as long as the object. */
export function memoized<Key extends object, Value extends NonNullable<unknown>>(
  create: (key: Key) => Value,
): (key: Key) => Value {
  const values = new WeakMap<Key, Value>();
  return (key) => {
    const known = values.get(key);
    if (known !== undefined) return known;
    const value = create(key);
    values.set(key, value);
    return value;
  };
}
