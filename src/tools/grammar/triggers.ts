import { reasoningOf, type Past } from '../reasoning/reasoningSpans.ts';
import type { Opening } from './grammar.ts';

/** An opening that has come in a text. */
export interface Opened {
  readonly opening: Opening;
  /** Where in the text it ends. */
  readonly end: number;
}

/** The first opening in a text that ends behind an index, outside of reasoning. */
export function openedIn(
  words: string,
  openings: readonly Opening[],
  from: { readonly start: number; readonly heard: number },
): Opened | undefined {
  const past = reasoningOf(words);
  const found = openings.flatMap((opening) => {
    const { opens, where } = opening;
    const at =
      where === 'first'
        ? beginning(words, from.start, past)
        : words.indexOf(opens, Math.max(from.start, from.heard - opens.length + 1));
    return at >= 0 && words.startsWith(opens, at) && at + opens.length > from.heard
      ? [{ opening, end: at + opens.length }]
      : [];
  });
  const [first] = found.sort((a, b) => a.end - b.end);
  return first && past(first.end - 1) === first.end - 1 ? first : undefined;
}

const separators = /[\s,;]*/y;

// Where a text says its first word: separators and reasoning are none.
function beginning(words: string, from: number, past: Past): number {
  separators.lastIndex = from;
  separators.test(words);
  const at = past(separators.lastIndex);
  return at === from ? at : beginning(words, at, past);
}
