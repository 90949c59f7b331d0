import { distance } from 'fastest-levenshtein';

const maxNameLength = 64;

/** The name closest to a misspelt one, if one is close: for "did you mean". */
export function closestName(name: string, names: Iterable<string>): string | undefined {
  // Nobody misspells what nobody can read, and comparing takes time in the product of the lengths.
  if (name.length > maxNameLength) return undefined;
  const [best] = [...names]
    .filter((candidate) => candidate.length <= maxNameLength)
    .map((candidate) => ({ candidate, far: distance(name.toLowerCase(), candidate.toLowerCase()) }))
    .sort((a, b) => a.far - b.far);
  return best && best.far <= maxEdits(name.length) ? best.candidate : undefined;
}

// Two letters that changed places are two changes; of one or two letters nothing can be said.
function maxEdits(length: number): number {
  if (length < 3) return 0;
  return length < 4 ? 1 : Math.max(2, Math.floor(length / 3));
}

/** `; did you mean "x"?`, or nothing when no name is close. */
export function didYouMean(name: string, names: Iterable<string>): string {
  const best = closestName(name, names);
  return best === undefined ? '' : `; did you mean "${best}"?`;
}
