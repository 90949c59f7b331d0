import type { LayoutPart } from '../../dialect/layout.ts';

// Private-use characters in place of an id and of the number of a call, so that texts of different calls compare equal.
const idMark = '\uE0F0';
const indexMark = '\uE0F1';

/** A text with the ids of calls replaced by a mark. */
export const markIds = (text: string, ids: readonly string[]): string =>
  ids.reduce((marked, id) => marked.replaceAll(id, idMark), text);

const lastNumber = (number: number): RegExp => new RegExp(`(?<![\\d.])${number}(?![\\d.])(?=[^\\d]*$)`);

/** Two texts that belong to the first and to the second call, with their numbers (0 and 1, or 1 and 2) marked. */
export function* withIndexMarks(first: string, second: string): Generator<readonly [first: string, second: string]> {
  yield [first, second];
  for (const start of [0, 1]) {
    const [inFirst, inSecond] = [lastNumber(start), lastNumber(start + 1)];
    if (inFirst.test(first) && inSecond.test(second))
      yield [first.replace(inFirst, indexMark), second.replace(inSecond, indexMark)];
  }
}

/** The literals and slots of a marked text. */
export const toParts = (text: string): readonly LayoutPart[] =>
  text
    .split(/([\uE0F0\uE0F1])/)
    .filter((part) => part !== '')
    .map((part) =>
      part === idMark ? { slot: 'id' as const } : part === indexMark ? { slot: 'index' as const } : part,
    );
