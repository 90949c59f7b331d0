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
}) {
  const shape = { architecture, name, width, layers, heads, kvHeads, hidden, contextLength };
  const { head, tensors } = createHeader({ ...shape, vocab, chatTemplate, weights });
  const draw = createNormalRandom(seed);
  const blobs = tensors.map(({ type, count, dimensions }) =>
    dimensions.length === 1 ? createWeights('F32', count, () => 1, 1) : createWeights(type, count, draw, spread),
  );
  return Buffer.concat([head, ...blobs.map(padded)]);
}
