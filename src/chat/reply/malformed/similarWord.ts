/** Whether two words are equal but for one letter: another one, one more, one less, or two that have changed places. */
export function isSimilar(a: string, b: string): boolean {
  if (a === b) return true;
  if (Math.abs(a.length - b.length) > 1) return false;
  let start = 0;
  while (start < a.length && a[start] === b[start]) start++;
  const restOf = (word: string, skipped: number): string => word.slice(start + skipped);
  if (a.length !== b.length) return a.length > b.length ? restOf(a, 1) === restOf(b, 0) : restOf(a, 0) === restOf(b, 1);
  const isSwapped = a[start] === b[start + 1] && a[start + 1] === b[start] && restOf(a, 2) === restOf(b, 2);
  return isSwapped || restOf(a, 1) === restOf(b, 1);
}
