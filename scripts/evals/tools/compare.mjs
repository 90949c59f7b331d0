// Compares the calls that a model made with the expected ones of an item.

/** @typedef {import('./items.mjs').ExpectedCall} ExpectedCall */
/** @typedef {'exact' | 'wrong' | 'wrongCount' | 'decodeFailure' | 'falseCall' | 'missed'} Outcome */

/**
 * @typedef {object} DetectedCall
 * @property {string} name
 * @property {Readonly<Record<string, unknown>>} arguments
 */

/**
 * What a client receives in the turn of an item.
 * @typedef {object} ModelAnswer
 * @property {readonly DetectedCall[]} calls
 * @property {string} [text] The text in addition to the calls.
 * @property {boolean} [truncated] Whether the server warned of a call that was cut off.
 */

const sameText = (one, other) => {
  const [a, b] = [folded(one), folded(other)];
  return a === b && (a !== '' || one.trim() === other.trim());
};

const folded = (text) =>
  text
    .normalize('NFKC')
    .toLowerCase()
    .replaceAll(/[^\p{L}\p{M}\p{N}]/gu, '');

/** Whether two values are equal: strings without case, spaces and punctuation, lists element by element. */
function sameValue(meant, given) {
  if (typeof meant === 'string' && typeof given === 'string') return sameText(meant, given);
  if (Array.isArray(meant) && Array.isArray(given)) {
    return meant.length === given.length && meant.every((value, index) => sameValue(value, given[index]));
  }
  if (isObject(meant) && isObject(given)) {
    const names = Object.keys(meant);
    return (
      names.length === Object.keys(given).length &&
      names.every((name) => Object.hasOwn(given, name) && sameValue(meant[name], given[name]))
    );
  }
  return meant === given;
}

const isObject = (value) => typeof value === 'object' && value !== null && !Array.isArray(value);

function sameCall(meant, given) {
  if (meant.name !== given.name) return false;
  const strangers = Object.keys(given.arguments).filter((name) => !Object.hasOwn(meant.arguments, name));
  if (strangers.length > 0) return false;
  return Object.entries(meant.arguments).every(([name, allowed]) => {
    const value = Object.hasOwn(given.arguments, name) ? given.arguments[name] : null;
    return allowed.some((one) => sameValue(one, value));
  });
}

// In any order. Backtracks, because a call may match two expected calls.
function sameCalls([meant, ...others], given) {
  if (meant === undefined) return given.length === 0;
  return given.some((call, index) => sameCall(meant, call) && sameCalls(others, given.toSpliced(index, 1)));
}

const tag = /<\|?tool_call|<function|\[TOOL_CALLS\]|<\|python_tag\|>/;
const opening = /\{\s*["']?(?:name|tool|function|arguments|parameters|args)["']?\s*:/;

/** Whether a text without a detected call still looks like one. */
const looksLikeCall = (text) => tag.test(text) || opening.test(text);

/**
 * The outcome of one item.
 * @param {readonly ExpectedCall[]} expectsCall
 * @param {ModelAnswer} answer
 * @returns {Outcome}
 */
export function compare(expectsCall, { calls, text = '', truncated = false }) {
  if (calls.length === 0) {
    if (truncated || looksLikeCall(text)) return 'decodeFailure';
    return expectsCall.length === 0 ? 'exact' : 'missed';
  }
  if (expectsCall.length === 0) return 'falseCall';
  if (calls.length !== expectsCall.length) return 'wrongCount';
  return sameCalls(expectsCall, calls) ? 'exact' : 'wrong';
}
