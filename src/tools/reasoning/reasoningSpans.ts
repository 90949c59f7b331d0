/** Gives the first index at or after one that stands outside of what it covers. */
export type SkipReasoning = (at: number) => number;

const tagPattern = /<think>|\[THINK\]|<\/think>|\[\/THINK\]/g;

/** The reasoning of a text: an unclosed one covers the rest, a lone closing tag what precedes it. */
export function createReasoningSkipper(text: string): SkipReasoning {
  const covered: { start: number; end: number }[] = [];
  let open: number | undefined;
  for (const { 0: tag, index } of text.matchAll(tagPattern)) {
    const closes = tag.includes('/');
    if (!closes) open ??= index;
    else if (open === undefined) covered.splice(0, covered.length, { start: 0, end: index + tag.length });
    else covered.push({ start: open, end: index + tag.length });
    if (closes) open = undefined;
  }
  if (open !== undefined) covered.push({ start: open, end: text.length });
  if (covered.length === 0) return (at) => at;
  return (at) => {
    let low = 0;
    let high = covered.length;
    while (low < high) {
      const middle = (low + high) >>> 1;
      if ((covered[middle]?.start ?? Infinity) <= at) low = middle + 1;
      else high = middle;
    }
    return Math.max(at, covered[low - 1]?.end ?? at);
  };
}

/**
 * A piece of JSON text behind another, with the last character of each mark of reasoning escaped where it stands in the
 * piece: within a string it says the same, and is no mark.
 */
export function escapeReasoningTags(before: string, piece: string): string {
  const start = before.slice(1 - longestTagLength);
  return (start + piece)
    .replace(tagPattern, (spans, index: number) =>
      index + spans.length > start.length
        ? `${spans.slice(0, -1)}\\u00${spans.charCodeAt(spans.length - 1).toString(16)}`
        : spans,
    )
    .slice(start.length);
}

const longestTagLength = '[/THINK]'.length;
