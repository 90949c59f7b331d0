const units =
  'zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen seventeen eighteen nineteen'.split(
    ' ',
  );
const tens = 'twenty thirty forty fifty sixty seventy eighty ninety'.split(' ');
const scales: ReadonlyMap<string, number> = new Map([
  ['hundred', 100],
  ['thousand', 1000],
  ['million', 1_000_000],
  ['billion', 1_000_000_000],
]);

/** Words for a quantity, as the number of single things. */
const quantities: ReadonlyMap<string, number> = new Map([
  ['single', 1],
  ['once', 1],
  ['both', 2],
  ['double', 2],
  ['twice', 2],
  ['triple', 3],
  ['thrice', 3],
]);

/** Words for a group of things: "two dozen" are 24. */
const groups: ReadonlyMap<string, number> = new Map([
  ['dozen', 12],
  ['couple', 2],
  ['pair', 2],
  ['pairs', 2],
]);

/**
 * The numbers that English words may mean: "three hundred" is 3 and 300, "half a dozen" is 6. Both readings count where
 * there are two.
 * @param words case-folded, without punctuation: "twenty-five" is two words.
 */
export function* numbersInWords(words: readonly string[]): Generator<number> {
  for (const [index, word] of words.entries()) {
    yield* numbersFrom(words, index);
    const quantity = quantities.get(word);
    if (quantity !== undefined && !(word === 'once' && words[index - 1] === 'at')) yield quantity;
    yield* groupsAt(words, index);
  }
}

/** Whether one thing is mentioned by its article: "an axe"; not in "a few", "a bit" or "a hundred". */
export function mentionsOneThing(words: readonly string[]): boolean {
  return words.some((word, index) => {
    const next = words[index + 1];
    return (word === 'a' || word === 'an') && next !== undefined && !isNoThing(next);
  });
}

// Words that make another quantity, or none, of the article before them.
const noThings: ReadonlySet<string> = new Set('few bit lot little while moment number half third quarter'.split(' '));
const isNoThing = (word: string): boolean => noThings.has(word) || scales.has(word) || groups.has(word);

/** The values of the number that starts at an index, each longer reading after the shorter one: 2, 200, 203. */
function* numbersFrom(words: readonly string[], start: number): Generator<number> {
  const startsWithArticle = words[start] === 'a' && scales.has(words[start + 1] ?? '');
  let total = 0;
  let current = startsWithArticle ? 1 : undefined;
  for (let index = startsWithArticle ? start + 1 : start; index < words.length; index++) {
    const word = words[index] ?? '';
    if (word === 'and' && total + (current ?? 0) >= 100 && isSmallNumber(words[index + 1])) continue;
    const scale = scales.get(word);
    const value = smallNumber(word);
    if (scale === 100 && current && current < 100) current *= 100;
    else if (scale !== undefined && scale > 100 && current) [total, current] = [total + current * scale, 0];
    else if (value !== undefined && hasRoomFor(value, current)) current = (current ?? 0) + value;
    else return;
    yield total + current;
  }
}

function smallNumber(word: string): number | undefined {
  if (units.includes(word)) return units.indexOf(word);
  return tens.includes(word) ? 20 + 10 * tens.indexOf(word) : undefined;
}

const isSmallNumber = (word = ''): boolean => smallNumber(word) !== undefined;

/** Whether a number below 100 may follow: "hundred five" and "twenty five", but not "five five" or "twenty twelve". */
function hasRoomFor(value: number, current: number | undefined): boolean {
  if (current === undefined) return true;
  if (value === 0) return false;
  return current % 100 === 0 || (current % 10 === 0 && current % 100 >= 20 && value < 10);
}

/** What a group at an index counts: "a dozen", "two dozen", "half a dozen". */
function* groupsAt(words: readonly string[], index: number): Generator<number> {
  const size = groups.get(words[index] ?? '');
  if (size === undefined) return;
  const [beforeLast, last] = [words[index - 2] ?? '', words[index - 1] ?? ''];
  const count = /^\d+$/.test(last) ? Number(last) : units.indexOf(last);
  if (last === 'half' || (beforeLast === 'half' && last === 'a')) yield size / 2;
  else yield Math.max(count, 1) * size;
}
