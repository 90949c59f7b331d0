const maxQuotedCharacters = 40;
const loneSurrogate = /\p{Surrogate}/u;
const loneSurrogates = /\p{Surrogate}/gu;

/** Whether a text has no lone surrogates, so that UTF-8 can encode it. Older browsers lack `String.prototype.isWellFormed`. */
export const isWellFormed = (text: string): boolean => !loneSurrogate.test(text);

/** Replaces each lone surrogate with U+FFFD. */
export const wellFormed = (text: string): string =>
  loneSurrogate.test(text) ? text.replace(loneSurrogates, '\uFFFD') : text;

/** A value for an error message: short, on one line. */
export function describeValue(value: unknown): string {
  if (typeof value === 'string') return JSON.stringify(truncateForError(value));
  if (Array.isArray(value)) return 'a list';
  if (typeof value === 'function') return 'a function';
  if (typeof value === 'bigint') return `${value}n`;
  if (typeof value !== 'object' || value === null) return String(value);
  return isPlainObject(value) ? 'an object' : `an instance of ${truncateForError(classNameOf(value))}`;
}

/** Whether an object is none of a class: an object literal, of any window or frame, or one without a prototype. */
export function isPlainObject(value: unknown): value is Readonly<Record<string, unknown>> {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return false;
  const prototype = Object.getPrototypeOf(value) as object | null;
  return prototype === null || Object.getPrototypeOf(prototype) === null;
}

const classNameOf = (value: object): string => {
  const { name }: { readonly name?: unknown } = value.constructor ?? {};
  return typeof name === 'string' && name !== '' ? name : 'a class';
};

/** The first 40 characters of a text, for an error message. */
export const truncateForError = (text: string): string =>
  text.length > maxQuotedCharacters ? `${wellFormed(text.slice(0, maxQuotedCharacters))}…` : text;
