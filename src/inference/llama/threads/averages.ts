/** The sum of a list. */
export const sum = (values: readonly number[]): number => values.reduce((total, value) => total + value, 0);

/** The mean of a list; NaN for an empty list. */
export const mean = (values: readonly number[]): number => sum(values) / values.length;

/** The median of a list (the upper one of the two middle values of an even count); NaN for an empty list. */
export function median(values: readonly number[]): number {
  const sorted = values.toSorted((a, b) => a - b);
  return sorted[Math.floor(sorted.length / 2)] ?? Number.NaN;
}
