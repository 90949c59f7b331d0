/** The words of a text, in lower case and without diacritics. */
export const splitWords = (text: string): readonly string[] =>
  text
    .normalize('NFKD')
    .toLowerCase()
    .replaceAll(/\p{M}+/gu, '')
    .match(/[\p{L}\p{N}]+/gu) ?? [];
