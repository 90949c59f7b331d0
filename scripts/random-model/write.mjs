// Writes the GGUF file of a random model as a stream: a pool of random weights is generated once, and every tensor is a copy
// of it from another offset, repeated as needed. The pool has a prime number of blocks, at least as many as the largest tensor
// has rows, so that no two rows are equal.
import { open, rename, rm } from 'node:fs/promises';
import { createHeader } from '../gguf/header.mjs';
import { padding } from '../gguf/values.mjs';
import { createNormalRandom, weightBytes, createWeights } from '../gguf/weights.mjs';
import { chatTemplate } from './shapes.mjs';
import { silentTokens, createVocabulary } from './vocabulary.mjs';

/**
 * Sizes are multiples of 32.
 * @typedef {object} RandomShape
 * @property {number} words Tokens of the vocabulary.
 * @property {number} layers
 * @property {number} width
 * @property {number} hidden
 * @property {number} heads
 * @property {number} kvHeads
 * @property {number} contextLength In tokens.
 * @property {number} [window] Sliding window of every second layer, in tokens; default: none.
 * @property {number} [kernel] Tokens of the short convolutions that two of three layers have instead of attention, which makes
 * the model a hybrid one: its cache cannot be cut back; default: none.
 * @property {'F32' | 'F16' | 'Q8_0'} weights
 * @property {number} [seed]
 * @property {string} [name]
 */

// Weights of a block.
const block = 32;
const postNorm = 8;

/**
 * Writes a random model atomically: into a temporary file, which is then renamed.
 * @param {string} file
 * @param {RandomShape} shape
 * @returns {Promise<void>}
 * @throws {RangeError} For an invalid shape.
 */
export async function writeRandomModel(file, { words, seed = 1, name = 'random', ...shape }) {
  check(shape);
  const vocab = createVocabulary(words);
  const architecture = shape.window ? 'gemma2' : shape.kernel ? 'lfm2' : 'llama';
  const { head, tensors } = createHeader({ architecture, name, ...shape, vocab, chatTemplate });
  const blocks = nextPrime(Math.max(words, shape.width, shape.hidden));
  const pools = createPools(shape.weights, blocks, seed);
  const part = `${file}.${process.pid}.part`;
  const handle = await open(part, 'w');
  try {
    await handle.write(head);
    for (const [index, tensor] of tensors.entries()) {
      const data = dataOf(tensor, index, pools);
      if (index === 0) zeroRows(data, tensor);
      await handle.write(data);
      await handle.write(Buffer.alloc(padding(tensor.bytes)));
    }
    await handle.close();
    await rename(part, file);
  } catch (error) {
    await handle.close().catch(() => {});
    await rm(part, { force: true });
    throw error;
  }
}

function check({ width, hidden, heads, kvHeads, weights, window, kernel }) {
  if (window && kernel) throw new RangeError('a model has a window or a kernel, not both');
  for (const [name, size] of Object.entries({ width, hidden, 'width / heads * kvHeads': (width / heads) * kvHeads })) {
    if (size % block !== 0) throw new RangeError(`${name} must be a multiple of ${block}, not ${size}`);
  }
  if (width % (2 * heads) !== 0) throw new RangeError(`width must be a multiple of twice the heads`);
  if (heads % kvHeads !== 0) throw new RangeError(`heads must be a multiple of kvHeads`);
  if (!['F32', 'F16', 'Q8_0'].includes(weights)) throw new RangeError(`weights are F32, F16 or Q8_0, not ${weights}`);
}

/** The pools of weights by standard deviation, created on first use; all are the same random numbers, scaled. */
function createPools(weights, blocks, seed) {
  const pools = new Map();
  return (spread) => {
    if (!pools.has(spread)) {
      pools.set(spread, createWeights(weights, blocks * block, createNormalRandom(seed), spread));
    }
    return pools.get(spread);
  };
}

function dataOf({ name, type, count, bytes, dimensions }, index, pools) {
  // The architecture gemma2 scales embeddings: its layers must outweigh them, or the model would repeat the last token.
  if (dimensions.length === 1) return createWeights(type, count, () => 1, name.includes('.post_') ? postNorm : 1);
  // llama.cpp wants the weights of convolutions as F32, whatever the others are.
  if (name.includes('.conv.'))
    return createWeights(type, count, createNormalRandom(index), spreadOf(index, dimensions));
  const pool = pools(spreadOf(index, dimensions));
  const data = Buffer.alloc(bytes);
  const unit = weightBytes(type, block);
  let from = (index * 7919 * unit) % pool.length;
  for (let at = 0; at < bytes; from = 0) at += pool.copy(data, at, from);
  return data;
}

// The output of a layer outweighs the embedding of the last token, or the model would repeat that token forever; logits have
// a standard deviation of about 2.
const spreadOf = (index, [inputs]) => (index === 0 ? 2 / Math.sqrt(inputs) : 1 / Math.sqrt(inputs));

// A row of zeros has a logit of 0, far below the highest one, so its token is never sampled.
function zeroRows(data, { type, dimensions: [width] }) {
  const row = weightBytes(type, width);
  for (const token of silentTokens()) data.fill(0, token * row, (token + 1) * row);
}

function nextPrime(least) {
  for (let number = least | 1; ; number += 2) {
    let factor = 3;
    while (factor * factor <= number && number % factor !== 0) factor += 2;
    if (factor * factor > number) return number;
  }
}
