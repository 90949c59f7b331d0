/**
 * One level of a prefix tree (trie): groups different texts by their first character, whole code points. No two groups
 * can match the same next character, so a parser that follows them has one alternative for each, not one for each text.
 * @returns what the texts of each group have in common, and what follows it in each: "" where a text ends with it.
 */
export function groupByPrefix(texts: readonly string[]) {
  const groups = new Map<string, string[]>();
  for (const content of texts) {
    const first = content === '' ? '' : firstOf(content);
    const group = groups.get(first);
    if (group) group.push(content);
    else groups.set(first, [content]);
  }
  return [...groups.values()].map((group) => {
    const prefix = group.reduce((a, b) => (a === b ? a : a.slice(0, commonLength(a, b))));
    return { prefix, rests: group.map((content) => content.slice(prefix.length)) };
  });
}

export const firstOf = (content: string): string => String.fromCodePoint(content.codePointAt(0) ?? 0);

/** How many UTF-16 units two texts have in common, the second one from an index on: whole characters only. */
export function commonLength(a: string, b: string, from = 0): number {
  let length = 0;
  while (length < a.length && a.charCodeAt(length) === b.charCodeAt(from + length)) length++;
  // Half of a surrogate pair is no character.
  const isHalf =
    length > 0 && [a.codePointAt(length - 1), b.codePointAt(from + length - 1)].some((point = 0) => point > 0xffff);
  return isHalf ? length - 1 : length;
}
