/** A pattern that matches a text and nothing else. */
export const escapePattern = (text: string): string => text.replaceAll(/[\\^$.*+?()[\]{}|/]/g, '\\$&');

/** A pattern that matches each of some texts, the longest first. */
export const anyOfTexts = (texts: Iterable<string>): string =>
  [...new Set(texts)]
    .sort((a, b) => b.length - a.length)
    .map(escapePattern)
    .join('|');

// Instructions of a class of Unicode characters count as this many: it has hundreds of ranges.
const unicodeClassSize = 10;
// RE2 refuses a larger count itself.
const maxRepeatCount = 1000;

interface OpenGroup {
  /** Size of all but the last atom. */
  before: number;
  /** Size of the last atom, which a repetition multiplies. */
  last: number;
}

/** The size of a pattern, repetitions written out: `(ab{3}){10}` is about 60. @param wordSize that of `\w`. */
export function estimatePatternSize(pattern: string, wordSize = 1): number {
  const groups: OpenGroup[] = [{ before: 0, last: 0 }];
  const current = (): OpenGroup => groups.at(-1) ?? { before: 0, last: 0 };
  const addAtom = (size: number): void => {
    const group = current();
    group.before += group.last;
    group.last = size;
  };
  const close = (): void => {
    const group = groups.length > 1 ? groups.pop() : undefined;
    if (group) addAtom(group.before + group.last + 1);
  };
  for (const part of splitPattern(pattern)) {
    const [, min = '', max = ''] = repetition.exec(part) ?? [];
    if (min !== '') current().last *= repeatCount(min, max);
    else if (part.startsWith('(') && !part.endsWith(')')) groups.push({ before: part.length - 1, last: 0 });
    else if (part === ')') close();
    else if (part.startsWith('\\Q')) addAtom(part.length);
    else addAtom(/^\[\^|\\[pP]/.test(part) ? unicodeClassSize : /\\[wW]/.test(part) ? wordSize : 1);
  }
  while (groups.length > 1) close();
  const { before, last } = current();
  return before + last;
}

/** The parts of an RE2 pattern: an escape, a quoted text, a group's head, a class, a counted repetition, a letter. */
export const splitPattern = (pattern: string): readonly string[] => pattern.match(partPattern) ?? [];

const partPattern =
  /\\Q(?:[^\\]|\\(?!E))*(?:\\E)?|\\[pP]\{[^}]{0,64}\}|\\x\{[^}]{0,8}\}|\\x[\da-fA-F]{2}|\\[0-7]{1,3}|\\[pP]?[^]?|\(\?(?:P?<\w{1,64}>|[a-zA-Z-]{0,8}[:)])?|\[\^?\]?(?:\\[pP]\{[^}]{0,64}\}|\\[^]|\[:\^?\w{1,16}:\]|[^\]\\])*\]?|\{\d+(?:,\d*)?\}|[^]/gu;
const repetition = /^\{(\d+)(?:,(\d*))?\}$/;

function repeatCount(min: string, max: string): number {
  const count = Math.max(Number(min), Number(max));
  return count > maxRepeatCount ? 1 : Math.max(1, count);
}
