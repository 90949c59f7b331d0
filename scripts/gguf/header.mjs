// GGUF header: the metadata of the model, its vocabulary, and the offset of each tensor.
import { f32, flag, i32, list, number, padded, padding, real, string, text, u32, u64 } from './values.mjs';
import { weightBytes, weightTypes } from './weights.mjs';

/**
 * Creates the header of a GGUF file as bytes, and the list of its tensors in file order. With a `window` each layer has a
 * second norm after attention and after the feed-forward network, as in the architecture `gemma2`. With a `kernel` only every
 * third layer has attention, and the others short convolutions of that many tokens, as in the architecture `lfm2`.
 */
export function createHeader({ vocab, chatTemplate, weights, ...shape }) {
  const tensors = tensorsOf({ ...shape, words: vocab.tokens.length }).map((tensor) => ({
    ...tensor,
    type: tensor.dimensions.length === 1 || tensor.name.includes('.conv.') ? 'F32' : weights,
  }));
  return writeHeader({ metadata: modelMetadata(shape, weights), shapes: tensors, vocab, chatTemplate });
}

/** Writes a header of any architecture from its metadata, and the name, type and dimensions of its tensors. */
export function writeHeader({ metadata, shapes, vocab, chatTemplate }) {
  const tensors = shapes.map((tensor) => {
    const count = tensor.dimensions.reduce((product, size) => product * size, 1);
    return { ...tensor, count, bytes: weightBytes(tensor.type, count) };
  });
  const values = [
    ...metadata,
    ...(vocab === undefined ? [] : vocabularyMetadata(vocab)),
    ...(chatTemplate === undefined ? [] : [['tokenizer.chat_template', text(chatTemplate)]]),
  ];
  let offset = 0;
  const infos = tensors.map(({ name, dimensions, type, bytes }) => {
    const id = weightTypes[type].id;
    const info = [string(name), u32(dimensions.length), ...dimensions.map(u64), u32(id), u64(offset)];
    offset += bytes + padding(bytes);
    return Buffer.concat(info);
  });
  const start = [Buffer.from('GGUF'), u32(3), u64(tensors.length), u64(values.length)];
  const pairs = values.map(([key, value]) => Buffer.concat([string(key), value]));
  return { head: padded(Buffer.concat([...start, ...pairs, ...infos])), tensors };
}

function modelMetadata(
  { architecture, name, width, layers, heads, kvHeads, hidden, contextLength, window, kernel },
  weights,
) {
  const kvHeadsOf = (layer) => i32(hasAttention(layer, kernel) ? kvHeads : 0);
  const own = {
    context_length: number(contextLength),
    embedding_length: number(width),
    block_count: number(layers),
    feed_forward_length: number(hidden),
    'attention.head_count': number(heads),
    'attention.head_count_kv': kernel
      ? list(
          5,
          Array.from({ length: layers }, (_, layer) => kvHeadsOf(layer)),
        )
      : number(kvHeads),
    'attention.layer_norm_rms_epsilon': real(1e-5),
    'attention.key_length': number(width / heads),
    'attention.value_length': number(width / heads),
    'rope.dimension_count': number(width / heads),
    'rope.freq_base': real(10_000),
    ...(window && { 'attention.sliding_window': number(window) }),
    ...(kernel && { 'shortconv.l_cache': number(kernel) }),
  };
  return [
    ['general.architecture', text(architecture)],
    ['general.name', text(name)],
    ['general.file_type', number(weightTypes[weights].fileType)],
    ...Object.entries(own).map(([key, value]) => [`${architecture}.${key}`, value]),
  ];
}

function vocabularyMetadata({
  model,
  pre,
  tokens,
  types: kinds,
  merges,
  scores,
  bos,
  eos,
  unknown,
  addBos,
  addSpacePrefix,
}) {
  const own = {
    model: text(model),
    ...(pre !== undefined && { pre: text(pre) }),
    tokens: list(8, tokens.map(string)),
    ...(kinds && { token_type: list(5, kinds.map(i32)) }),
    ...(merges && { merges: list(8, merges.map(string)) }),
    ...(scores && { scores: list(6, scores.map(f32)) }),
    ...(bos !== undefined && { bos_token_id: number(bos) }),
    ...(eos !== undefined && { eos_token_id: number(eos) }),
    ...(unknown !== undefined && { unknown_token_id: number(unknown) }),
    add_bos_token: flag(addBos ?? false),
    add_eos_token: flag(false),
    add_space_prefix: flag(addSpacePrefix ?? false),
  };
  return Object.entries(own).map(([key, value]) => [`tokenizer.ggml.${key}`, value]);
}

// Dimensions in ggml's order, the fastest first; without output.weight llama.cpp uses the embeddings (tied weights).
function tensorsOf({ width, layers, heads, kvHeads, hidden, words, window, kernel, ownOutput }) {
  const keys = (width / heads) * kvHeads;
  const attention = {
    attn_q: [width, width],
    attn_k: [width, keys],
    attn_v: [width, keys],
    attn_output: [width, width],
    ...(kernel && { attn_q_norm: [width / heads], attn_k_norm: [width / heads] }),
  };
  const convolution = {
    'shortconv.conv': [kernel, width],
    'shortconv.in_proj': [width, 3 * width],
    'shortconv.out_proj': [width, width],
  };
  const blockOf = (layer) => ({
    attn_norm: [width],
    ...(hasAttention(layer, kernel) ? attention : convolution),
    ...(window && { post_attention_norm: [width], post_ffw_norm: [width] }),
    ffn_norm: [width],
    ffn_gate: [width, hidden],
    ffn_up: [width, hidden],
    ffn_down: [hidden, width],
  });
  const blocks = Array.from({ length: layers }, (_, layer) =>
    Object.entries(blockOf(layer)).map(([part, dimensions]) => ({ name: `blk.${layer}.${part}.weight`, dimensions })),
  );
  return [
    { name: 'token_embd.weight', dimensions: [width, words] },
    ...blocks.flat(),
    { name: kernel ? 'token_embd_norm.weight' : 'output_norm.weight', dimensions: [width] },
    ...(ownOutput ? [{ name: 'output.weight', dimensions: [width, words] }] : []),
  ];
}

const hasAttention = (layer, kernel) => !kernel || layer % 3 === 2;
