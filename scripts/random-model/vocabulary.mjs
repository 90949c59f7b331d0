// Byte-level BPE vocabulary of any size with synthetic merges: JSON punctuation, the most frequent letter pairs of English,
// their combinations, and some words. English text has about three characters per token, and JSON as many tokens as with the
// vocabulary of a real model.
import { tokenType } from '../gguf/gguf.mjs';
import { byteCharacters, byteCharacter } from '../gguf/vocabulary.mjs';

const controlTokens = ['<|endoftext|>', '<|im_start|>', '<|im_end|>'];

// The most frequent first.
const letters = 'etaoinshrdlcumwfgypbvkjxqz';
const space = byteCharacter(0x20);

/** Creates a vocabulary of `size` tokens: control tokens, the 256 bytes, then the merges. */
export function createVocabulary(size) {
  const room = size - controlTokens.length - byteCharacters.length;
  if (room < 0)
    throw new RangeError(
      `a vocabulary has at least ${controlTokens.length + byteCharacters.length} tokens, not ${size}`,
    );
  const merges = createMerges(room);
  const words = [...byteCharacters, ...merges.map(([a, b]) => a + b)];
  return {
    model: 'gpt2',
    pre: 'smollm',
    tokens: [...controlTokens, ...words],
    types: [...controlTokens.map(() => tokenType.control), ...words.map(() => tokenType.normal)],
    merges: merges.map(([a, b]) => `${a} ${b}`),
    bos: controlTokens.indexOf('<|im_start|>'),
    eos: controlTokens.indexOf('<|im_end|>'),
  };
}

/** Tokens that must never be sampled: control tokens, and bytes that are not printable ASCII. */
export const silentTokens = () => [
  ...controlTokens.keys(),
  ...byteCharacters.flatMap((letter, byte) => (byte < 0x20 || byte > 0x7e ? [controlTokens.length + byte] : [])),
];

// Words of tool calls, and the most frequent words of English.
const calls = 'name arguments parameters tool call item count place speed light true false null';
const english =
  'the be to of and in that have it for not on with he as you do at this but his by from they we say her she or an will ' +
  'my one all would there their what so up out if about who get which go me when make can like time no just him know take';
const wholeWords = [...calls.split(' '), ...`${calls} ${english}`.split(' ').map((word) => space + word)];

function createMerges(room) {
  const words = new Map();
  for (const [a, b] of candidates(words)) {
    if (words.size === room) return [...words.values()];
    if (!words.has(a + b)) words.set(a + b, [a, b]);
  }
  throw new RangeError(`there are merges for a vocabulary of ${words.size + 259} tokens, and no more`);
}

function* candidates(words) {
  yield* ['{ "', '" :', '" ,', '" }', '} }', '"} }', '< /', `${space} "`, `${space} {`, `${space}{ "`].map((pair) =>
    pair.split(' '),
  );
  const pairs = byFrequency([...letters], [...letters]);
  const common = pairs.slice(0, 130).map(([a, b]) => a + b);
  for (const letter of letters) yield [space, letter];
  yield* pairs;
  yield* common.map((pair) => [space + pair[0], pair[1]]);
  yield* byFrequency(common, common);
  for (const word of wholeWords) yield* mergesOfWord(word, words);
  yield* byFrequency(
    common.map((pair) => space + pair),
    common,
  );
  yield* [...letters].map((letter) => [space, letter.toUpperCase()]);
  yield* byFrequency(
    pairs.map(([a, b]) => a + b),
    [...letters],
  );
}

/** The merges that turn a word into one token, given the merges so far. */
function mergesOfWord(word, words) {
  const [first, ...rest] = partsOf(word, [...words.values()]);
  let whole = first;
  return rest.map((part) => {
    const pair = [whole, part];
    whole += part;
    return pair;
  });
}

function partsOf(word, merges) {
  let parts = [...word];
  for (;;) {
    const ranks = parts.slice(1).map((part, at) => merges.findIndex(([a, b]) => a === parts[at] && b === part));
    const best = Math.min(...ranks.map((rank) => (rank < 0 ? Infinity : rank)));
    if (best === Infinity) return parts;
    const at = ranks.indexOf(best);
    parts = [...parts.slice(0, at), parts[at] + parts[at + 1], ...parts.slice(at + 2)];
  }
}

// Both lists are sorted by frequency, and so is the list of pairs.
const byFrequency = (firsts, seconds) =>
  firsts
    .flatMap((first, a) => seconds.map((second, b) => ({ pair: [first, second], rank: (a + 1) * (b + 1) })))
    .sort((one, other) => one.rank - other.rank)
    .map(({ pair }) => pair);
