// Tokenizer of the demo model: byte-level BPE made for copying. A word has the same tokens everywhere: in the message, in the
// schema and in the call. The space before it and its capital are merged last, and tie the token to that of the bare word.
import { byteCharacters, byteCharacter } from '../../gguf/vocabulary.mjs';
import { tokenType } from '../../gguf/gguf.mjs';

// GPT-2's pre-tokenizer: splits a text into words before the merges.
const words = /'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+/gu;
const space = byteCharacter(0x20);
const byteCharactersOf = (text) => [...Buffer.from(text)].map((byte) => byteCharacters[byte]);
const isLetter = (text) => /^[a-z]+$/.test(text);

const controlTokens = ['<|endoftext|>', '<|im_start|>', '<|im_end|>'];

/** Learns the merges of a vocabulary of at most `size` tokens, phrases included, from word counts (a Map). */
export function learnVocabulary(counts, { phrases, size, spaced, capitals }) {
  const merges = learnMerges(
    wordsOf(counts),
    size - controlTokens.length - phrases.length - byteCharacters.length - spaced - capitals,
  );
  const used = usage(counts, merges);
  const upper = capitalMerges(merges, used.capital, capitals);
  const ranked = inOrder(merges, upper);
  const last = topOf(used.spaced, spaced).map((token) => [space, token]);
  return [...ranked, ...last].map((pair) => pair.join(' '));
}

// The words that merges are learnt from: lower-case, without the space before them, with their counts.
function wordsOf(counts) {
  const bare = new Map();
  for (const [word, count] of counts) {
    const text = word.trim().toLowerCase();
    if (isLetter(text)) bare.set(text, (bare.get(text) ?? 0) + count);
  }
  return [...bare].map(([text, count]) => ({ parts: [...text], count }));
}

function learnMerges(list, wanted) {
  const pairs = new Map();
  const add = (index, sign) => {
    const { parts, count } = list[index];
    for (let at = 1; at < parts.length; at++) {
      const key = `${parts[at - 1]} ${parts[at]}`;
      const pair = pairs.get(key) ?? { count: 0, where: new Set() };
      pair.count += sign * count;
      pair.where.add(index);
      pairs.set(key, pair);
    }
  };
  for (const index of list.keys()) add(index, 1);
  const merges = [];
  while (merges.length < wanted) {
    let best = '';
    for (const [key, { count }] of pairs) {
      const bestCount = pairs.get(best)?.count ?? 1;
      if (count > bestCount || (count === bestCount && key < best)) best = key;
    }
    if (best === '') break;
    const [a, b] = best.split(' ');
    merges.push([a, b]);
    const { where } = pairs.get(best);
    for (const index of where) {
      add(index, -1);
      list[index].parts = merged(list[index].parts, a, b);
      add(index, 1);
    }
    pairs.delete(best);
  }
  return merges;
}

function merged(parts, a, b) {
  const out = [];
  for (let at = 0; at < parts.length; at++) {
    const both = parts[at] === a && parts[at + 1] === b;
    out.push(both ? a + b : parts[at]);
    if (both) at++;
  }
  return out;
}

// How often the first token of a word follows a space, and how often it has a capital.
function usage(counts, merges) {
  const bpe = encoder(merges);
  const tally = { spaced: new Map(), capital: new Map() };
  const note = (map, token, count) => map.set(token, (map.get(token) ?? 0) + count);
  for (const [word, count] of counts) {
    const bare = word.trimStart();
    if (/^[A-Z][a-z]/.test(bare)) note(tally.capital, bpe([...bare.toLowerCase()])[0], count);
    if (bare !== word && bare !== '') note(tally.spaced, firstOf(bare, bpe), count);
  }
  return tally;
}

const firstOf = (bare, bpe) => {
  const [first] = /^[A-Z][a-z]/.test(bare) ? bpe([...bare.toLowerCase()]) : bpe(byteCharactersOf(bare));
  return /^[A-Z]/.test(bare) ? first[0].toUpperCase() + first.slice(1) : first;
};

const topOf = (tally, size) =>
  [...tally]
    .sort(([a, x], [b, y]) => y - x || (a < b ? -1 : 1))
    .slice(0, size)
    .map(([token]) => token);

// The merges of a capitalised word: those of the lower-case word, with a capital in the first token at every step.
function capitalMerges(merges, tally, size) {
  const made = new Map(merges.map(([a, b], rank) => [a + b, { a, b, rank }]));
  const chosen = new Map();
  for (const token of topOf(tally, Infinity)) {
    const steps = [];
    for (let at = made.get(token); at; at = made.get(at.a)) steps.push(at);
    const fresh = steps.filter(({ rank }) => !chosen.has(rank));
    if (chosen.size + fresh.length > size) continue;
    for (const { a, b, rank } of fresh) chosen.set(rank, { rank, pair: [a[0].toUpperCase() + a.slice(1), b] });
  }
  return [...chosen.values()];
}

const inOrder = (merges, upper) => {
  const byRank = new Map(upper.map(({ rank, pair }) => [rank, pair]));
  return merges.flatMap((pair, rank) => (byRank.has(rank) ? [pair, byRank.get(rank)] : [pair]));
};

function encoder(merges) {
  const ranks = new Map(merges.map(([a, b], rank) => [`${a} ${b}`, rank]));
  return (letters) => {
    let parts = letters;
    for (;;) {
      let best = Infinity;
      let place = -1;
      for (let at = 1; at < parts.length; at++) {
        const rank = ranks.get(`${parts[at - 1]} ${parts[at]}`);
        if (rank !== undefined && rank < best) [best, place] = [rank, at];
      }
      if (place < 0) return parts;
      parts = [...parts.slice(0, place - 1), parts[place - 1] + parts[place], ...parts.slice(place + 1)];
    }
  };
}

/**
 * The content of vocabulary.json.
 * @typedef {object} LearntVocabulary
 * @property {readonly string[]} phrases
 * @property {readonly string[]} merges
 */

/**
 * @typedef {object} DemoVocabulary
 * @property {import('../../gguf/gguf.mjs').TinyVocab} gguf As a GGUF file stores it.
 * @property {readonly (readonly [number, number, number])[]} ties For each token the id of the bare lower-case token, and
 *   1 or 0 for an added space and an added capital.
 * @property {(text: string) => number[]} encode
 */

/**
 * Creates the vocabulary from its learnt entries.
 * @param {LearntVocabulary} learnt
 * @returns {DemoVocabulary}
 */
export function createVocabulary({ phrases, merges }) {
  const pairs = merges.map((merge) => merge.split(' '));
  const own = pairs.map(([a, b]) => a + b);
  const tokens = [...controlTokens, ...phrases, ...byteCharacters, ...own];
  const ids = new Map(tokens.map((token, id) => [token, id]));
  if (ids.size < tokens.length) throw new Error('the vocabulary has a duplicate token');
  const bpe = encoder(pairs);
  const known = new Map();
  const special = longestFirst(phrases);
  const some = anyOf(special);
  const wordIds = (word) => {
    if (!known.has(word))
      known.set(
        word,
        bpe(byteCharactersOf(word)).map((token) => ids.get(token)),
      );
    return known.get(word);
  };
  return {
    gguf: {
      model: 'gpt2',
      pre: 'gpt-2',
      tokens,
      types: [
        ...controlTokens.map(() => tokenType.control),
        ...phrases.map(() => tokenType.userDefined),
        ...[...byteCharacters, ...own].map(() => tokenType.normal),
      ],
      merges,
      bos: 0,
      eos: 2,
    },
    ties: tokens.map((token, id) => tieOf(token, id, ids)),
    encode: (text) =>
      pieces(text, special, some).flatMap((piece) =>
        piece.token ? [ids.get(piece.token)] : [...piece.text.matchAll(words)].flatMap(([word]) => wordIds(word)),
      ),
  };
}

// The id of the bare lower-case token, and whether a space and a capital were added to it.
function tieOf(token, id, ids) {
  const behindSpace = token.length > 1 && token.startsWith(space) && ids.has(token.slice(1));
  const bare = behindSpace ? token.slice(1) : token;
  const lower = bare[0].toLowerCase() + bare.slice(1);
  const capital = bare.length > 1 && lower !== bare && ids.has(lower);
  return [behindSpace || capital ? ids.get(capital ? lower : bare) : id, behindSpace ? 1 : 0, capital ? 1 : 0];
}

const longestFirst = (phrases) =>
  [...controlTokens, ...phrases].sort((a, b) => Buffer.byteLength(b) - Buffer.byteLength(a));
const anyOf = (texts) => new RegExp(texts.map((text) => text.replaceAll(/[\\^$.*+?()[\]{}|]/g, '\\$&')).join('|'));

// Special tokens and phrases are split off first, the longest first, as llama.cpp does.
function pieces(text, special, some) {
  if (!some.test(text)) return [{ text }];
  let all = [{ text }];
  for (const token of special) {
    if (!text.includes(token)) continue;
    all = all.flatMap((piece) => {
      if (piece.token || !piece.text.includes(token)) return [piece];
      const parts = piece.text
        .split(token)
        .flatMap((part) => [{ token }, { text: part }])
        .slice(1);
      return parts.filter((part) => part.token || part.text !== '');
    });
  }
  return all;
}

/** Adds the words of a text to the counts (a Map); phrases do not count as words. */
export function countWords(text, phrases, counts) {
  const special = longestFirst(phrases);
  const some = anyOf(special);
  for (const piece of pieces(text, special, some)) {
    if (piece.token) continue;
    for (const [word] of piece.text.matchAll(words)) counts.set(word, (counts.get(word) ?? 0) + 1);
  }
}
