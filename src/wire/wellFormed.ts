const maxQuotedCharacters = 40;
const loneSurrogate = /\p{Surrogate}/u;
const loneSurrogates = /\p{Surrogate}/gu;

/**
 * Whether a text has no lone surrogates, so that UTF-8 can encode it. Older browsers lack
 * `String.prototype.isWellFormed`.
 */
export const isWellFormed = (text: string): boolean => !loneSurrogate.test(text);

/** Replaces each lone surrogate with U+FFFD. */
export const wellFormed = (text: string): string =>
  loneSurrogate.test(text) ? text.replace(loneSurrogates, '\uFFFD') : text;

/** A value for an error message: short, on one line. */
export function describeValue(value: unknown): string {
  if (typeof value === 'string') return JSON.stringify(truncateForError(value));
  if (Array.isArray(value)) return 'a list';
  return typeof value === 'object' && value !== null ? 'an object' : String(value);
}

/** The first 40 characters of a text, for an error message. */
export const truncateForError = (text: string): string =>
  text.length > maxQuotedCharacters ? `${wellFormed(text.slice(0, maxQuotedCharacters))}…` : text;
