// GGUF files of embedding models: tiny ones with random weights, and those of Hugging Face.
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { tokenType } from './gguf.mjs';
import { writeHeader } from './header.mjs';
import { flag, number, padded, real, text } from './values.mjs';
import { createNormalRandom, createWeights, weightTypes } from './weights.mjs';

const special = ['[PAD]', '[UNK]', '[CLS]', '[SEP]', '[MASK]'];
// With letters of Hangul, which has a code point for each syllable, too.
const characters = [...'abcdefghijklmnopqrstuvwxyz0123456789\u1100\u1161\u1169'];
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
  const types = vocab.tokens.map((_, id) => (id < special.length ? tokenType.control : tokenType.normal));
  const shape = { name: 'tiny embedding', width, layers, heads: 4, hidden: 2 * width, contextLength, pooling };
  const { head, tensors } = bertHeader(shape, { ...vocab, types });
  const draw = createNormalRandom(seed);
  const blobs = tensors.map(({ name, count }) =>
    name.endsWith('norm.weight') ? createWeights('F32', count, () => 1, 1) : createWeights('F32', count, draw, 0.3),
  );
  return Buffer.concat([head, ...blobs.map(padded)]);
}

/**
 * Converts a BERT with mean pooling, as Hugging Face stores it, to the bytes of a GGUF file with 32-bit weights.
 * @param {string} folder has config.json, vocab.txt and model.safetensors.
 * @returns {Promise<Buffer>}
 */
export async function convertBert(folder) {
  const config = JSON.parse(await readFile(join(folder, 'config.json'), 'utf8'));
  const tokens = (await readFile(join(folder, 'vocab.txt'), 'utf8')).trimEnd().split('\n');
  const isSpecial = (token) => /^\[.+\]$/.test(token);
  const pieces = {
    ...vocab,
    tokens: tokens.map((token) => {
      if (token.startsWith('##')) return token.slice(2);
      return isSpecial(token) ? token : `▁${token}`;
    }),
    types: tokens.map((token) => (isSpecial(token) ? tokenType.control : tokenType.normal)),
    ...Object.fromEntries(['unknown', 'bos', 'eos'].map((role) => [role, tokens.indexOf(vocab.tokens[vocab[role]])])),
  };
  const shape = {
    name: folder,
    width: config.hidden_size,
    layers: config.num_hidden_layers,
    heads: config.num_attention_heads,
    hidden: config.intermediate_size,
    contextLength: config.max_position_embeddings,
    pooling: 'mean',
  };
  const { head, tensors } = bertHeader(shape, pieces);
  const file = await readFile(join(folder, 'model.safetensors'));
  const start = 8 + Number(file.readBigUInt64LE(0));
  const stored = JSON.parse(file.toString('utf8', 8, start));
  const blobs = tensors.map(({ name, bytes }) => {
    const { dtype, data_offsets: [from, to] = [] } = stored[sourceName(name)] ?? {};
    if (dtype !== 'F32' || to - from !== bytes) throw new Error(`${sourceName(name)} is not as config.json says`);
    return file.subarray(start + from, start + to);
  });
  return Buffer.concat([head, ...blobs.map(padded)]);
}

/** What Hugging Face calls the tensors of llama.cpp. */
const sources = {
  token_embd: 'embeddings.word_embeddings',
  token_types: 'embeddings.token_type_embeddings',
  position_embd: 'embeddings.position_embeddings',
  token_embd_norm: 'embeddings.LayerNorm',
  attn_q: 'attention.self.query',
  attn_k: 'attention.self.key',
  attn_v: 'attention.self.value',
  attn_output: 'attention.output.dense',
  attn_output_norm: 'attention.output.LayerNorm',
  ffn_up: 'intermediate.dense',
  ffn_down: 'output.dense',
  layer_output_norm: 'output.LayerNorm',
};

const sourceName = (name) => {
  const [, layer, part = '', kind] = /^(?:blk\.(\d+)\.)?(\w+)\.(weight|bias)$/.exec(name) ?? [];
  return `${layer === undefined ? '' : `encoder.layer.${layer}.`}${sources[part]}.${kind}`;
};

function bertHeader({ name, width, layers, heads, hidden, contextLength, pooling }, pieces) {
  const own = {
    context_length: number(contextLength),
    embedding_length: number(width),
    block_count: number(layers),
    feed_forward_length: number(hidden),
    'attention.head_count': number(heads),
    'attention.layer_norm_epsilon': real(1e-12),
    'attention.causal': flag(false),
    pooling_type: number(poolings[pooling]),
  };
  const idOf = (token) => number(pieces.tokens.indexOf(token));
  const metadata = [
    ['general.architecture', text('bert')],
    ['general.name', text(name)],
    ['general.file_type', number(weightTypes.F32.fileType)],
    ...Object.entries(own).map(([key, value]) => [`bert.${key}`, value]),
    ['tokenizer.ggml.token_type_count', number(2)],
    ['tokenizer.ggml.cls_token_id', idOf('[CLS]')],
    ['tokenizer.ggml.seperator_token_id', idOf('[SEP]')],
    ['tokenizer.ggml.padding_token_id', idOf('[PAD]')],
    ['tokenizer.ggml.mask_token_id', idOf('[MASK]')],
  ];
  const dimensions = {
    'token_embd.weight': [width, pieces.tokens.length],
    'token_types.weight': [width, 2],
    'position_embd.weight': [width, contextLength],
    ...layerNorm('token_embd_norm', width),
    ...Object.assign({}, ...Array.from({ length: layers }, (_, layer) => blockTensors(`blk.${layer}`, width, hidden))),
  };
  const shapes = Object.entries(dimensions).map(([tensor, sizes]) => ({
    name: tensor,
    dimensions: sizes,
    type: 'F32',
  }));
  return writeHeader({ metadata, shapes, vocab: pieces });
}

const blockTensors = (block, width, hidden) => ({
  ...linear(`${block}.attn_q`, width, width),
  ...linear(`${block}.attn_k`, width, width),
  ...linear(`${block}.attn_v`, width, width),
  ...linear(`${block}.attn_output`, width, width),
  ...layerNorm(`${block}.attn_output_norm`, width),
  ...linear(`${block}.ffn_up`, width, hidden),
  ...linear(`${block}.ffn_down`, hidden, width),
  ...layerNorm(`${block}.layer_output_norm`, width),
});

const linear = (name, from, to) => ({ [`${name}.weight`]: [from, to], [`${name}.bias`]: [to] });
const layerNorm = (name, width) => ({ [`${name}.weight`]: [width], [`${name}.bias`]: [width] });
