import { findMark, looseMark, matchMarkAfterSpace, type LooseMark } from '../looseMark.ts';
import { readKey } from './parameterKey.ts';
import type { ValuePosition } from './valueNotation.ts';

/** Where a value between marks ends. */
export interface TaggedEnd {
  /** Index after the value, white space of the mark included. */
  readonly valueEnd: number;
  /** Index after the mark that closes it. */
  readonly end: number;
  /** Whether that mark is missing. */
  readonly isUnclosed: boolean;
}

/**
 * Finds the end of a value between marks, which may contain the mark that closes it:
 *
 * | what is found                                                       | the value ends at             |
 * | ------------------------------------------------------------------- | ----------------------------- |
 * | the next parameter, by its declared key, before any closing mark    | that parameter (unclosed)     |
 * | a closing mark right before the next parameter or the end of all    | that closing mark             |
 * | other closing marks                                                 | the first of them             |
 * | no closing mark, but a next parameter or the end of all             | whichever comes first         |
 *
 * undefined: none of these; the text ends inside the value.
 */
export function findTaggedEnd(position: ValuePosition, start: number, close: LooseMark): TaggedEnd | undefined {
  const { source, layout } = position;
  const [key, after] = [looseMark(layout.key), looseMark(position.after)];
  const first = findMark(close, source, start);
  const nextKey = findNextKey(position, key, start, first.start);
  if (nextKey !== undefined) return unclosed(nextKey);
  const nextMark = (from: number): number =>
    Math.min(findMark(key, source, from).start, findMark(after, source, from).start);
  if (first.start === Infinity) {
    const stop = nextMark(start);
    return stop === Infinity ? undefined : unclosed(stop);
  }
  const bound = nextMark(first.end);
  for (let match = first; match.start < bound; match = findMark(close, source, match.end)) {
    if (isFollowedBy([key, after], position, match.end)) return closed(match);
  }
  return closed(first);
}

const unclosed = (index: number): TaggedEnd => ({ valueEnd: index, end: index, isUnclosed: true });
const closed = ({ start, end }: { readonly start: number; readonly end: number }): TaggedEnd => ({
  valueEnd: start,
  end,
  isUnclosed: false,
});

/** Index of the first mark of a key in a range after which a parameter that may follow is named. */
function findNextKey(position: ValuePosition, key: LooseMark, from: number, to: number): number | undefined {
  const { source, layout, nextKeys } = position;
  if (nextKeys.size === 0) return undefined;
  for (let match = findMark(key, source, from); match.start < to; match = findMark(key, source, match.end)) {
    if (nextKeys.has(readKey(source.text, match.end, layout)?.name ?? '')) return match.start;
  }
  return undefined;
}

function isFollowedBy(marks: readonly LooseMark[], { source, layout }: ValuePosition, index: number): boolean {
  const start = matchMarkAfterSpace(looseMark(layout.separator), source.text, index) ?? index;
  return marks.some((mark) => mark.pieces.length > 0 && matchMarkAfterSpace(mark, source.text, start) !== undefined);
}
