import { maxTagLength, openingTags, reasoningTagPattern } from './reasoningTags.ts';

/** Returns the first index at or after the given one that is outside of reasoning. */
export type SkipReasoning = (index: number) => number;

/**
 * Finds the reasoning (chain of thought) of a complete text. Reasoning that is never closed reaches to the end of the
 * text; a closing tag without an opening one ends reasoning that started with the text.
 */
export function createReasoningSkipper(text: string): SkipReasoning {
  const spans: { start: number; end: number }[] = [];
  let openedAt: number | undefined;
  for (const { 0: tag, index } of text.matchAll(reasoningTagPattern)) {
    const end = index + tag.length;
    if (openingTags.includes(tag)) {
      openedAt ??= index;
      continue;
    }
    if (openedAt === undefined) spans.splice(0, spans.length, { start: 0, end });
    else spans.push({ start: openedAt, end });
    openedAt = undefined;
  }
  if (openedAt !== undefined) spans.push({ start: openedAt, end: text.length });
  if (spans.length === 0) return (index) => index;
  return (index) => {
    // Binary search for the number of spans that start at or before the index.
    let low = 0;
    let high = spans.length;
    while (low < high) {
      const middle = (low + high) >>> 1;
      if ((spans[middle]?.start ?? Infinity) <= index) low = middle + 1;
      else high = middle;
    }
    return Math.max(index, spans[low - 1]?.end ?? index);
  };
}

/**
 * A piece of JSON text in which the last character of each reasoning tag is escaped (`<think\u003e`), also of a tag that
 * starts in the text before the piece. Within a JSON string the value stays the same, and the text has no tag any more.
 */
export function escapeReasoningTags(before: string, piece: string): string {
  const lastCharacters = before.slice(1 - maxTagLength);
  return (lastCharacters + piece)
    .replace(reasoningTagPattern, (tag, index: number) =>
      index + tag.length > lastCharacters.length
        ? `${tag.slice(0, -1)}\\u00${tag.charCodeAt(tag.length - 1).toString(16)}`
        : tag,
    )
    .slice(lastCharacters.length);
}
