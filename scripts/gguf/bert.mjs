// GGUF files of tiny embedding models, in memory.
import { tokenType } from './gguf.mjs';
import { writeHeader } from './header.mjs';
import { flag, number, padded, real, text } from './values.mjs';
import { createNormalRandom, createWeights, weightTypes } from './weights.mjs';

const special = ['[PAD]', '[UNK]', '[CLS]', '[SEP]', '[MASK]'];
const characters = [...'abcdefghijklmnopqrstuvwxyz0123456789'];
const marks = [...'.,;:!?()\'"-'];
const words = ['the', 'is', 'of', 'and', 'query', 'document', 'sword', 'dragon', 'moon'];

/** A WordPiece vocabulary: the first piece of a word has a mark, as GGUF files write it, and its other pieces have none. */
const vocab = {
  model: 'bert',
  tokens: [...special, ...[...words, ...characters, ...marks].map((piece) => `▁${piece}`), ...characters],
  unknown: special.indexOf('[UNK]'),
  bos: special.indexOf('[CLS]'),
  eos: special.indexOf('[SEP]'),
};

/** Poolings, as `pooling_type` numbers them. */
const poolings = { none: 0, mean: 1, cls: 2 };

/**
 * Creates an embedding model (`bert` architecture) with random weights, as the bytes of a GGUF file.
 * @param {{ readonly width?: number, readonly layers?: number, readonly contextLength?: number, readonly seed?: number,
 *   readonly pooling?: 'none' | 'mean' | 'cls' }} [shape] `width`: numbers of an embedding, a multiple of 8.
 * @returns {Buffer}
 */
export function bertGguf({ width = 32, layers = 2, contextLength = 64, seed = 1, pooling = 'mean' } = {}) {
  const own = {
    context_length: number(contextLength),
    embedding_length: number(width),
    block_count: number(layers),
    feed_forward_length: number(2 * width),
    'attention.head_count': number(4),
    'attention.layer_norm_epsilon': real(1e-12),
    'attention.causal': flag(false),
    pooling_type: number(poolings[pooling]),
  };
  const metadata = [
    ['general.architecture', text('bert')],
    ['general.name', text('tiny embedding')],
    ['general.file_type', number(weightTypes.F32.fileType)],
    ...Object.entries(own).map(([key, value]) => [`bert.${key}`, value]),
    ['tokenizer.ggml.token_type_count', number(2)],
    ['tokenizer.ggml.cls_token_id', number(special.indexOf('[CLS]'))],
    ['tokenizer.ggml.seperator_token_id', number(special.indexOf('[SEP]'))],
    ['tokenizer.ggml.padding_token_id', number(special.indexOf('[PAD]'))],
    ['tokenizer.ggml.mask_token_id', number(special.indexOf('[MASK]'))],
  ];
  const dimensions = {
    'token_embd.weight': [width, vocab.tokens.length],
    'token_types.weight': [width, 2],
    'position_embd.weight': [width, contextLength],
    ...layerNorm('token_embd_norm', width),
    ...Object.assign({}, ...Array.from({ length: layers }, (_, layer) => blockTensors(`blk.${layer}`, width))),
  };
  const shapes = Object.entries(dimensions).map(([name, sizes]) => ({ name, dimensions: sizes, type: 'F32' }));
  const types = vocab.tokens.map((_, id) => (id < special.length ? tokenType.control : tokenType.normal));
  const { head, tensors } = writeHeader({ metadata, shapes, vocab: { ...vocab, types } });
  const draw = createNormalRandom(seed);
  const blobs = tensors.map(({ name, count }) =>
    name.endsWith('norm.weight') ? createWeights('F32', count, () => 1, 1) : createWeights('F32', count, draw, 0.3),
  );
  return Buffer.concat([head, ...blobs.map(padded)]);
}

const blockTensors = (block, width) => ({
  ...linear(`${block}.attn_q`, width, width),
  ...linear(`${block}.attn_k`, width, width),
  ...linear(`${block}.attn_v`, width, width),
  ...linear(`${block}.attn_output`, width, width),
  ...layerNorm(`${block}.attn_output_norm`, width),
  ...linear(`${block}.ffn_up`, width, 2 * width),
  ...linear(`${block}.ffn_down`, 2 * width, width),
  ...layerNorm(`${block}.layer_output_norm`, width),
});

const linear = (name, from, to) => ({ [`${name}.weight`]: [from, to], [`${name}.bias`]: [to] });
const layerNorm = (name, width) => ({ [`${name}.weight`]: [width], [`${name}.bias`]: [width] });
