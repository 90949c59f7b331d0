import { findMark, looseMark, matchMarkAfterSpace, type LooseMark } from '../looseMark.ts';
import type { ParameterLayout } from '../layout.ts';
import type { SearchedText } from '../searchedText.ts';
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
  const nextMark = (from: number): number =>
    Math.min(findMark(key, source, from).start, findMark(after, source, from).start);
  if (first.start === Infinity) {
    const stop = nextMark(start);
    return stop === Infinity ? undefined : unclosed(stop);
  }
  const nextKey = findNextKey(position, start);
  if (nextKey < first.start) return unclosed(nextKey);
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

/** Index of the first parameter, by its mark and its key, that may follow; Infinity: none. */
function findNextKey({ source, layout, nextKeys }: ValuePosition, from: number): number {
  let first = Infinity;
  for (const name of nextKeys) first = Math.min(first, findKey(source, from, { layout, name }));
  return first;
}

function findKey(
  source: SearchedText,
  from: number,
  { layout, name }: { readonly layout: ParameterLayout; readonly name: string },
): number {
  const mark = looseMark(layout.key + name);
  return source.find(`\0key ${name}`, from, () => {
    let match = findMark(mark, source, from);
    while (match.start !== Infinity && readKey(source.text, match.end - name.length, layout)?.name !== name)
      match = findMark(mark, source, match.end);
    return match.start;
  });
}

function isFollowedBy(marks: readonly LooseMark[], { source, layout }: ValuePosition, index: number): boolean {
  const start = matchMarkAfterSpace(looseMark(layout.separator), source.text, index) ?? index;
  return marks.some((mark) => mark.pieces.length > 0 && matchMarkAfterSpace(mark, source.text, start) !== undefined);
}
