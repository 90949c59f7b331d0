// What became of one item: the calls that were due against the calls that were heard.

const sameText = (one, other) => {
  const [a, b] = [folded(one), folded(other)];
  return a === b && (a !== '' || one.trim() === other.trim());
};

const folded = (text) =>
  text
    .normalize('NFKC')
    .toLowerCase()
    .replaceAll(/[^\p{L}\p{M}\p{N}]/gu, '');

/** Whether a value is the one that is meant: strings without case, spaces and punctuation, lists element by element. */
export function sameValue(meant, given) {
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

/** Whether a call is the one that is meant; `meant.arguments` lists the allowed values, null where absent will do. */
export function sameCall(meant, given) {
  if (meant.name !== given.name) return false;
  const strangers = Object.keys(given.arguments).filter((name) => !Object.hasOwn(meant.arguments, name));
  if (strangers.length > 0) return false;
  return Object.entries(meant.arguments).every(([name, allowed]) => {
    const value = Object.hasOwn(given.arguments, name) ? given.arguments[name] : null;
    return allowed.some((one) => sameValue(one, value));
  });
}

// In any order: a call that fits two that are meant must not take the place of one that fits only one of them.
function sameCalls([meant, ...others], given) {
  if (meant === undefined) return given.length === 0;
  return given.some((call, index) => sameCall(meant, call) && sameCalls(others, given.toSpliced(index, 1)));
}

const tag = /<\|?tool_call|<function|\[TOOL_CALLS\]|<\|python_tag\|>/;
const opening = /\{\s*["']?(?:name|tool|function|arguments|parameters|args)["']?\s*:/;

/** Whether a text in which no call was found still seems to be one. */
export const looksLikeCall = (text) => tag.test(text) || opening.test(text);

/**
 * What became of an item. `heard` is what the client heard: the calls, the text beside them, and whether the server
 * warned of a call that was cut off.
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
