// Creates GGUF files of tiny models with random weights, in memory.
import { createHeader } from './header.mjs';
import { padded } from './values.mjs';
import { createNormalRandom, createWeights } from './weights.mjs';

/**
 * A tokenizer as GGUF files store it.
 * @typedef {object} TinyVocab
 * @property {'gpt2' | 'llama'} model `gpt2`: byte-level BPE with merges; `llama`: SentencePiece with scores.
 * @property {string} [pre] The pre-tokenizer, by llama.cpp's names; only for `gpt2`.
 * @property {readonly string[]} tokens
 * @property {readonly number[]} [types] A number of `tokenType` for each token; absent: llama.cpp takes all for normal ones.
 * @property {readonly string[]} [merges]
 * @property {readonly number[]} [scores]
 * @property {number} [bos] Token id.
 * @property {number} [eos] Token id.
 * @property {number} [unknown] Token id.
 * @property {boolean} [addBos] Whether every prompt begins with the `bos` token; default false.
 * @property {boolean} [addSpacePrefix]
 */

/**
 * @typedef {object} TinyModel
 * @property {TinyVocab} vocab
 * @property {'llama'} [architecture]
 * @property {string} [name]
 * @property {number} [width] Embedding length; a multiple of twice the heads.
 * @property {number} [layers]
 * @property {number} [heads]
 * @property {number} [kvHeads] Heads of keys and values; default: `heads`.
 * @property {number} [hidden] Feed-forward length; default: twice the width.
 * @property {number} [contextLength] In tokens.
 * @property {string} [chatTemplate]
 * @property {'F32' | 'F16' | 'Q8_0'} [weights]
 * @property {number} [spread] Standard deviation of the weights.
 * @property {number} [seed]
 * @property {LikelyTokens} [likely] Only with F32 weights.
 */

/**
 * Tokens that a model generates more often than the others, so that texts of a large vocabulary come to an end.
 * @typedef {object} LikelyTokens
 * @property {readonly number[]} ids
 * @property {number} logits What is added to their logits, whatever the text is.
 */

/** Token types, as `tokenizer.ggml.token_type` numbers them. */
export const tokenType = { normal: 1, unknown: 2, control: 3, userDefined: 4, unused: 5, byte: 6 };

/**
 * Creates a model of the `llama` architecture with random weights, as the bytes of a GGUF file.
 * @param {TinyModel} model
 * @returns {Buffer}
 */
export function tinyGguf({
  architecture = 'llama',
  name = 'tiny',
  width = 32,
  layers = 1,
  heads = 2,
  kvHeads = heads,
  hidden = 2 * width,
  contextLength = 2048,
  vocab,
  chatTemplate,
  weights = 'F32',
  spread = 0.02,
  seed = 1,
  likely,
}) {
  const shape = { architecture, name, width, layers, heads, kvHeads, hidden, contextLength };
  const { head, tensors } = createHeader({ ...shape, vocab, chatTemplate, weights });
  const draw = createNormalRandom(seed);
  const blobs = tensors.map(({ type, count, dimensions }) =>
    dimensions.length === 1 ? createWeights('F32', count, () => 1, 1) : createWeights(type, count, draw, spread),
  );
  if (likely) raiseLogits(blobs[0], { ...likely, words: vocab.tokens.length, width });
  return Buffer.concat([head, ...blobs.map(padded)]);
}

// The first value of each embedding outweighs all others, so that the hidden state before the last layer, whose norm is the
// square root of the width, is nearly constant.
function raiseLogits(embeddings, { ids, logits, words, width }) {
  for (let token = 0; token < words; token++) embeddings.writeFloatLE(1, token * width * 4);
  for (const token of ids) embeddings.writeFloatLE(1 + logits / Math.sqrt(width), token * width * 4);
}
