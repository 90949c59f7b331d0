// Writes GGUF files with random weights: models that say nothing sensible, small enough to be made where they are needed.
import { headOf } from './header.mjs';
import { padded } from './values.mjs';
import { normalNumbers, weightsOf } from './weights.mjs';

/** The kinds of a token, as `tokenizer.ggml.token_type` numbers them. */
export const tokenType = { normal: 1, unknown: 2, control: 3, userDefined: 4, unused: 5, byte: 6 };

/** A model of the `llama` architecture with random weights, as the bytes of a GGUF file. */
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
  const { head, tensors } = headOf({ ...shape, vocab, chatTemplate, weights });
  const draw = normalNumbers(seed);
  const blobs = tensors.map(({ type, count, dimensions }) =>
    dimensions.length === 1 ? weightsOf('F32', count, () => 1, 1) : weightsOf(type, count, draw, spread),
  );
  return Buffer.concat([head, ...blobs.map(padded)]);
}
