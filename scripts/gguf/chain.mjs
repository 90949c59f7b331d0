// GGUF files of models that write a known text: the next token depends on the last one alone.
import { createHeader } from './header.mjs';
import { padded } from './values.mjs';

/**
 * Creates a model (`llama` architecture) whose most probable next token follows from the last one, as the bytes of a GGUF
 * file. Each token has a dimension of its own, its layer adds nothing, and the output weights map each token to the next.
 * @param {object} model
 * @param {import('./gguf.mjs').TinyVocab} model.vocab
 * @param {Readonly<Record<string, string>>} model.next Spelling of the next token by that of the last one; all other
 * tokens are followed by the `eos` token.
 * @param {string} [model.chatTemplate]
 * @param {number} [model.contextLength] In tokens.
 * @returns {Buffer}
 * @throws {RangeError} For a spelling that is no token.
 */
export function chainGguf({ vocab, next, chatTemplate, contextLength = 2048 }) {
  const words = vocab.tokens.length;
  const width = Math.ceil(words / 4) * 4;
  const shape = {
    architecture: 'llama',
    name: 'chain',
    width,
    layers: 1,
    heads: 2,
    kvHeads: 2,
    hidden: 32,
    contextLength,
  };
  const { head, tensors } = createHeader({ ...shape, ownOutput: true, vocab, chatTemplate, weights: 'F32' });
  const idOf = (spelling) => {
    const id = vocab.tokens.indexOf(spelling);
    if (id < 0) throw new RangeError(`${spelling} is no token`);
    return id;
  };
  const following = new Map(Object.entries(next).map(([last, token]) => [idOf(last), idOf(token)]));
  const embeddings = new Float32Array(width * words);
  const outputs = new Float32Array(width * words);
  for (let token = 0; token < words; token++) {
    embeddings[token * width + token] = 1;
    outputs[(following.get(token) ?? vocab.eos ?? 0) * width + token] = 1;
  }
  const own = { 'token_embd.weight': embeddings, 'output.weight': outputs };
  const blobs = tensors.map(({ name, count, dimensions }) => {
    const weights = own[name] ?? new Float32Array(count).fill(dimensions.length === 1 ? 1 : 0);
    return Buffer.from(weights.buffer);
  });
  return Buffer.concat([head, ...blobs.map(padded)]);
}
