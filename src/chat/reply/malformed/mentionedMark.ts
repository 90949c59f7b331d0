/**
 * Whether a sentence has a mark as a word of its own: prose stands before it, and after it on the line.
 * @param before the end of the text before the mark.
 * @param after the beginning of the text after it.
 */
export const isMentioned = (before: string, after: string): boolean =>
  /[\p{L}\p{N},.;:!?)][ \t]*$/u.test(before) && /^(?:[.,;!?)]|[ \t]+[\p{L}(])/u.test(after);
