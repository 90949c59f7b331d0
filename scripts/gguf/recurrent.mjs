// GGUF files of tiny recurrent models, in memory.
import { writeHeader } from './header.mjs';
import { number, padded, real, text } from './values.mjs';
import { createNormalRandom, createWeights, weightTypes } from './weights.mjs';

const width = 32;
const inner = 2 * width;
const states = 16;
const rank = 4;
const kernel = 4;

/**
 * Creates a recurrent model (`mamba` architecture) with random weights, as the bytes of a GGUF file. Its state is that of its
 * last token: it cannot be cut back.
 * @param {{ readonly vocab: import('./gguf.mjs').TinyVocab, readonly chatTemplate?: string }} model
 * @returns {Buffer}
 */
export function recurrentGguf({ vocab, chatTemplate }) {
  const own = {
    context_length: number(2048),
    embedding_length: number(width),
    block_count: number(1),
    feed_forward_length: number(0),
    'attention.head_count': number(0),
    'attention.layer_norm_rms_epsilon': real(1e-5),
    'ssm.conv_kernel': number(kernel),
    'ssm.inner_size': number(inner),
    'ssm.state_size': number(states),
    'ssm.time_step_rank': number(rank),
  };
  const metadata = [
    ['general.architecture', text('mamba')],
    ['general.name', text('tiny recurrent')],
    ['general.file_type', number(weightTypes.F32.fileType)],
    ...Object.entries(own).map(([key, value]) => [`mamba.${key}`, value]),
  ];
  const dimensions = {
    'token_embd.weight': [width, vocab.tokens.length],
    'blk.0.attn_norm.weight': [width],
    'blk.0.ssm_in.weight': [width, 2 * inner],
    'blk.0.ssm_conv1d.weight': [kernel, inner],
    'blk.0.ssm_conv1d.bias': [inner],
    'blk.0.ssm_x.weight': [inner, rank + 2 * states],
    'blk.0.ssm_dt.weight': [rank, inner],
    'blk.0.ssm_dt.bias': [inner],
    'blk.0.ssm_a': [states, inner],
    'blk.0.ssm_d': [inner],
    'blk.0.ssm_out.weight': [inner, width],
    'output_norm.weight': [width],
  };
  const shapes = Object.entries(dimensions).map(([name, sizes]) => ({ name, dimensions: sizes, type: 'F32' }));
  const { head, tensors } = writeHeader({ metadata, shapes, vocab, chatTemplate });
  const draw = createNormalRandom(1);
  const blobs = tensors.map(({ name, count }) => {
    if (name.endsWith('norm.weight')) return createWeights('F32', count, () => 1, 1);
    // The state decays: A is negative.
    if (name.endsWith('ssm_a')) return createWeights('F32', count, () => -1, 1);
    return createWeights('F32', count, draw, 0.3);
  });
  return Buffer.concat([head, ...blobs.map(padded)]);
}
