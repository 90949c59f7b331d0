/** One line of a diff: ` ` = as expected, `-` = expected and missing, `+` = there and not expected. */
export interface DiffLine {
  readonly mark: ' ' | '-' | '+';
  readonly line: string;
}

/** The smallest diff of two lists (longest common subsequence). A line that is as expected is shown as it is. */
export function diffLines<Expected, Actual>(
  expected: readonly Expected[],
  actual: readonly Actual[],
  fits: (expected: Expected, actual: Actual) => boolean,
  lineOf: (item: Expected | Actual) => string = String,
): readonly DiffLine[] {
  const lengths = commonLengths(expected, actual, fits);
  const lines: DiffLine[] = [];
  let [i, j] = [0, 0];
  const restOf = (a: number, b: number): number => lengths[a]?.[b] ?? 0;
  while (i < expected.length || j < actual.length) {
    const [wanted, got] = [expected[i], actual[j]];
    const hasBoth = i < expected.length && j < actual.length;
    if (hasBoth && fits(wanted as Expected, got as Actual) && restOf(i, j) === restOf(i + 1, j + 1) + 1) {
      lines.push({ mark: ' ', line: lineOf(got as Actual) });
      i++;
      j++;
    } else if (j >= actual.length || (i < expected.length && restOf(i + 1, j) >= restOf(i, j + 1))) {
      lines.push({ mark: '-', line: lineOf(wanted as Expected) });
      i++;
    } else {
      lines.push({ mark: '+', line: lineOf(got as Actual) });
      j++;
    }
  }
  return lines;
}

/** The lengths of the longest common subsequences of the rests that begin at each pair of indices. */
function commonLengths<Expected, Actual>(
  expected: readonly Expected[],
  actual: readonly Actual[],
  fits: (expected: Expected, actual: Actual) => boolean,
): readonly (readonly number[])[] {
  const lengths = Array.from({ length: expected.length + 1 }, () => Array.from({ length: actual.length + 1 }, () => 0));
  for (let i = expected.length - 1; i >= 0; i--) {
    for (let j = actual.length - 1; j >= 0; j--) {
      const [row, next] = [lengths[i] as number[], lengths[i + 1] as number[]];
      row[j] = fits(expected[i] as Expected, actual[j] as Actual)
        ? (next[j + 1] ?? 0) + 1
        : Math.max(next[j] ?? 0, row[j + 1] ?? 0);
    }
  }
  return lengths;
}
