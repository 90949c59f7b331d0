/** Texts that begin with the same character: what they have in common, and what follows it in each. */
export interface PrefixGroup {
  readonly prefix: string;
  /** "" where a text ends with the prefix; a single text has no other. */
  readonly rests: readonly string[];
}

/**
 * One level of a prefix tree (trie): groups different texts by their first character, whole code points. No two groups
 * can match the same next character, so a parser that follows them has one alternative for each, not one for each text.
 */
export function groupByPrefix(texts: readonly string[]): readonly PrefixGroup[] {
  const groups = new Map<string, string[]>();
  for (const content of texts) {
    const first = content === '' ? '' : String.fromCodePoint(content.codePointAt(0) ?? 0);
    const group = groups.get(first);
    if (group) group.push(content);
    else groups.set(first, [content]);
  }
  return [...groups.values()].map((group) => {
    const prefix = group.reduce(commonPrefix);
    return { prefix, rests: group.map((content) => content.slice(prefix.length)) };
  });
}

function commonPrefix(a: string, b: string): string {
  if (a === b) return a;
  let length = 0;
  while (length < a.length && a.charCodeAt(length) === b.charCodeAt(length)) length++;
  // Half of a surrogate pair is no character.
  if (length > 0 && (a.codePointAt(length - 1) ?? 0) > 0xffff) length--;
  return a.slice(0, length);
}
