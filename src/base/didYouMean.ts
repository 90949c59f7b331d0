import { distance } from 'fastest-levenshtein';

const maxNameLength = 64;
// A client may have tens of thousands of storages, and a graph that names hundreds of others.
const maxNames = 400;

/** The known name nearest to a misspelt one (Levenshtein), else the first that begins with it or has its words. */
function closestName(name: string, names: Iterable<string>): string | undefined {
  // The comparison takes time in the product of the lengths, and a longer name is no misspelling.
  if (name.length > maxNameLength) return undefined;
  const known: string[] = [];
  for (const candidate of names) if (known.push(candidate) === maxNames) break;
  const [best] = known
    .filter((candidate) => candidate.length <= maxNameLength)
    .map((candidate) => ({ candidate, edits: distance(name.toLowerCase(), candidate.toLowerCase()) }))
    .sort((a, b) => a.edits - b.edits);
  if (best && best.edits <= maxEdits(name.length)) return best.candidate;
  return (
    known.find((candidate) => isCutName(name, candidate)) ?? known.find((candidate) => hasWordsOf(name, candidate))
  );
}

/** Whether a known name has all words of another, which are at least two: `qwen3-4b` for `Qwen3 4B (Q4_K_M)`. */
function hasWordsOf(name: string, candidate: string): boolean {
  const words = wordsOf(name);
  const known = wordsOf(candidate);
  return words.length > 1 && words.every((word) => known.includes(word));
}

const wordsOf = (name: string): readonly string[] => name.toLowerCase().match(/[\p{L}\p{N}.]+/gu) ?? [];

/** Whether a name lacks only whole words at the end of a known one: `start` for `start_node`. */
const isCutName = (name: string, candidate: string): boolean =>
  name.length > 2 && candidate.toLowerCase().startsWith(`${name.toLowerCase()}_`);

// Two swapped letters count as two edits. Names of one or two letters are too short for a guess.
function maxEdits(length: number): number {
  if (length < 3) return 0;
  return length < 4 ? 1 : Math.max(2, Math.floor(length / 3));
}

/** `; did you mean "x"?`, or nothing when no name is close. */
export function didYouMean(name: string, names: Iterable<string>): string {
  const best = closestName(name, names);
  return best === undefined ? '' : `; did you mean "${best}"?`;
}

// A message has 600 characters, and the suggestion at its end is to be in it.
const maxListed = 6;

/** Names for a message: `"a", "b"`; of many the first, and how many more there are. */
export function listNames(names: Iterable<string>): string {
  const all = [...names];
  const listed = all.slice(0, maxListed).map((name) => JSON.stringify(name));
  return [...listed, ...(all.length > maxListed ? [`${all.length - maxListed} more`] : [])].join(', ');
}
