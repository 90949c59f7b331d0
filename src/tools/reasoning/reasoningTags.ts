const tagPairs = [
  { open: '<think>', close: '</think>' },
  { open: '[THINK]', close: '[/THINK]' },
] as const;

/** The tags that start reasoning (chain of thought). */
export const openingTags: readonly string[] = tagPairs.map(({ open }) => open);

/** The tags that start and end reasoning. */
export const reasoningTags: readonly string[] = tagPairs.flatMap(({ open, close }) => [open, close]);

/** Length of the longest tag, in UTF-16 code units. */
export const maxTagLength = Math.max(...reasoningTags.map(({ length }) => length));

/** The tag that ends the reasoning that an opening tag starts. */
export const closingTagOf = (opening: string): string | undefined =>
  tagPairs.find(({ open }) => open === opening)?.close;

/** Matches all reasoning tags of a text. */
export const reasoningTagPattern = new RegExp(
  reasoningTags.map((tag) => tag.replaceAll(/[[\]]/g, '\\$&')).join('|'),
  'g',
);
