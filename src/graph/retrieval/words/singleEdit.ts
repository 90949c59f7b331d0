/**
 * Whether one edit makes one word of another: a letter replaced, added or left out, or two adjacent letters swapped
 * (optimal string alignment, distance 1). Words that are equal are not.
 */
export function isSingleEdit(one: string, other: string): boolean {
  const [short, long] = one.length <= other.length ? [one, other] : [other, one];
  if (long.length - short.length > 1) return false;
  let start = 0;
  while (start < short.length && short.charCodeAt(start) === long.charCodeAt(start)) start++;
  if (long.length > short.length) return short.slice(start) === long.slice(start + 1);
  if (start === long.length) return false;
  if (short.slice(start + 1) === long.slice(start + 1)) return true;
  return (
    short.charCodeAt(start) === long.charCodeAt(start + 1) &&
    short.charCodeAt(start + 1) === long.charCodeAt(start) &&
    short.slice(start + 2) === long.slice(start + 2)
  );
}
