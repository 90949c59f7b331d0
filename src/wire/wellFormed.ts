const loneSurrogate = /\p{Surrogate}/u;
const loneSurrogates = /\p{Surrogate}/gu;

/** Whether a text has no half of a surrogate pair in it, so that UTF-8 can hold it. */
export const isWellFormed = (text: string): boolean => !loneSurrogate.test(text);

/** The text with U+FFFD in the place of each half of a surrogate pair. */
export const wellFormed = (text: string): string =>
  loneSurrogate.test(text) ? text.replace(loneSurrogates, '\uFFFD') : text;

/** A value as a refusal shows it: short, on one line. */
export function describeValue(value: unknown): string {
  if (typeof value === 'string') return JSON.stringify(truncateForError(value));
  if (Array.isArray(value)) return 'a list';
  return typeof value === 'object' && value !== null ? 'an object' : String(value);
}

/** The first 40 characters of a text that may be of any length. */
export const truncateForError = (text: string): string =>
  text.length > 40 ? `${wellFormed(text.slice(0, 40))}…` : text;
