/** The number of leading items that are equal in both lists: tokens, characters. */
export function commonPrefixLength<T>(a: ArrayLike<T>, b: ArrayLike<T>): number {
  const max = Math.min(a.length, b.length);
  let length = 0;
  while (length < max && a[length] === b[length]) length++;
  return length;
}
