import { distance } from 'fastest-levenshtein';

const longest = 64;

/** The name closest to a misspelt one, if one is close: for "did you mean". */
export function closest(name: string, names: Iterable<string>): string | undefined {
  // Nobody misspells what nobody can read, and comparing takes time in the product of the lengths.
  if (name.length > longest) return undefined;
  const [best] = [...names]
    .filter((candidate) => candidate.length <= longest)
    .map((candidate) => ({ candidate, far: distance(name.toLowerCase(), candidate.toLowerCase()) }))
    .sort((a, b) => a.far - b.far);
  return best && best.far <= Math.max(1, Math.floor(name.length / 3)) ? best.candidate : undefined;
}

/** `; did you mean "x"?`, or nothing when no name is close. */
export function didYouMean(name: string, names: Iterable<string>): string {
  const best = closest(name, names);
  return best === undefined ? '' : `; did you mean "${best}"?`;
}
