// The vocabulary of a Hugging Face tokenizer (tokenizer.json, tokenizer_config.json) as GGUF files store it, with the token
// types that llama.cpp's converter gives.
/** @import { TinyVocab } from './gguf.mjs' */
import { tokenType } from './gguf.mjs';

/**
 * The parts of a tokenizer.json of type BPE that are read.
 * @typedef {object} TokenizerJson
 * @property {{ vocab: Record<string, number>, merges: readonly (string | readonly [string, string])[], byte_fallback?: boolean }} model
 * @property {readonly AddedToken[]} added_tokens
 */

/**
 * @typedef {object} AddedToken
 * @property {number} id
 * @property {string} content
 * @property {boolean} special
 */

/**
 * The vocabulary of a tokenizer. With byte fallback it is one of SentencePiece, whose scores are the ranks of the merges;
 * else byte-level BPE.
 * @param {TokenizerJson} tokenizer
 * @param {{ bos?: string, eos?: string, addBos: boolean, pre?: string }} special `pre`: the pre-tokenizer, by llama.cpp's names.
 * @returns {TinyVocab}
 */
export function vocabularyOf({ model, added_tokens: added }, { bos, eos, addBos, pre }) {
  const isSentencePiece = model.byte_fallback === true;
  const tokens = [];
  const types = [];
  for (const [token, id] of Object.entries(model.vocab)) {
    tokens[id] = token;
    types[id] = isSentencePiece && /^<0x[0-9A-F]{2}>$/.test(token) ? tokenType.byte : tokenType.normal;
  }
  for (const { id, content, ...token } of added) {
    types[id] = addedType({ content, ...token }, isSentencePiece);
    tokens[id] = types[id] === tokenType.userDefined ? content.replaceAll('▁', ' ') : content;
  }
  // Ids that no token has.
  for (let id = 0; id < tokens.length; id++) {
    tokens[id] ??= `[PAD${id}]`;
    types[id] ??= tokenType.unused;
  }
  const idOf = (token) => (token === undefined ? undefined : tokens.indexOf(token));
  const merges = model.merges.map((merge) => (typeof merge === 'string' ? merge : merge.join(' ')));
  return {
    tokens,
    types,
    ...(isSentencePiece
      ? { model: 'llama', scores: scoresOf(tokens, merges), unknown: idOf('<unk>') }
      : { model: 'gpt2', pre, merges }),
    bos: idOf(bos),
    eos: idOf(eos),
    addBos,
    addSpacePrefix: false,
  };
}

/** Added tokens that are found in every text; the others are control tokens, which only a prompt has. */
export const isUserDefined = ({ content, special }) => !special && !looksSpecial(content);

/** Names of control tokens that some tokenizers do not mark as special. */
const looksSpecial = (content) =>
  /^<\|.*\|>$|^<｜.*｜>$|^<unused\d*>$/su.test(content) || ['<pad>', '<mask>', '<2mass>', '[@BOS@]'].includes(content);

function addedType(token, isSentencePiece) {
  if (isSentencePiece && token.content === '<unk>') return tokenType.unknown;
  return isUserDefined(token) ? tokenType.userDefined : tokenType.control;
}

// The earlier a merge, the higher the score of the token that it gives.
function scoresOf(tokens, merges) {
  const ranks = new Map();
  for (const [rank, merge] of merges.entries()) {
    const token = joined(merge);
    if (!ranks.has(token)) ranks.set(token, rank);
  }
  return tokens.map((token) => -(ranks.get(token) ?? merges.length));
}

// SentencePiece tokens contain no space but the one between the two parts.
const joined = (merge) => merge.replace(' ', '');
