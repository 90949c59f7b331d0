// Judges an answer to a message whose call has a result.

/** @typedef {'used' | 'ignored' | 'endless' | 'calledAgain' | 'repeated' | 'notCalled'} ResultOutcome */

/**
 * The outcomes of the category "result given": the answer has the result; it has not; it did not end; another call came;
 * the same call came again and no answer; no call came.
 * @type {readonly ResultOutcome[]}
 */
export const resultOutcomes = ['used', 'ignored', 'endless', 'calledAgain', 'repeated', 'notCalled'];

/**
 * What a client receives in the turn of an item.
 * @typedef {object} ResultAnswer
 * @property {readonly import('./compare.mjs').DetectedCall[]} calls
 * @property {number} unread How many calls the server could not read.
 * @property {number} repeated How many calls repeated the answered one.
 * @property {string} text
 * @property {boolean} [endless] Whether the text was cut off at its maximum length.
 */

/**
 * The outcome of one item.
 * @param {Pick<import('./resultItems.mjs').ResultItem, 'accepted'>} item
 * @param {ResultAnswer} answer
 * @returns {ResultOutcome}
 */
export function judgeResult({ accepted }, { calls, unread, repeated, text, endless = false }) {
  if (calls.length === 0) return 'notCalled';
  if (calls.length > 1 || unread > 0) return 'calledAgain';
  if (endless) return 'endless';
  if (accepted.some((phrase) => mentions(text, phrase))) return 'used';
  return repeated > 0 ? 'repeated' : 'ignored';
}

/**
 * Whether a text has a phrase: as whole words, without case. `4` is neither in `14` nor in `4.5`.
 * @param {string} text
 * @param {string} phrase
 */
export function mentions(text, phrase) {
  const escaped = RegExp.escape?.(phrase) ?? phrase.replaceAll(/[.*+?^${}()|[\]\\]/g, '\\$&');
  const before = String.raw`(?<![\p{L}\p{N}]|\p{N}[.,:])`;
  const after = String.raw`(?![\p{L}\p{N}]|[.,:]\p{N})`;
  return new RegExp(`${before}${escaped}${after}`, 'iu').test(text);
}
