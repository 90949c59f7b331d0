// Writes GGUF files with random weights: models that say nothing sensible, small enough to be made where they are needed.

/** The kinds of a token, as `tokenizer.ggml.token_type` numbers them. */
export const tokenType = { normal: 1, unknown: 2, control: 3, userDefined: 4, unused: 5, byte: 6 };

/** A model of the `llama` architecture with random weights, as the bytes of a GGUF file. */
export function tinyGguf({
  architecture = 'llama',
  name = 'tiny',
  width = 32,
  layers = 1,
  heads = 2,
  hidden = 2 * width,
  contextLength = 2048,
  vocab,
  chatTemplate,
  weights = 'F32',
  spread = 0.02,
  seed = 1,
}) {
  const shape = { architecture, name, width, layers, heads, hidden, contextLength };
  const tensors = tensorsOf({ width, layers, hidden, words: vocab.tokens.length });
  const draw = normalNumbers(seed, spread);
  const blobs = tensors.map(({ dimensions }) => {
    if (dimensions.length === 1) return numbers('F32', dimensions[0], () => 1);
    return numbers(weights, dimensions[0] * dimensions[1], draw);
  });
  const values = [
    ...modelValues(shape, weights),
    ...vocabularyValues(vocab),
    ...(chatTemplate === undefined ? [] : [['tokenizer.chat_template', text(chatTemplate)]]),
  ];
  let offset = 0;
  const infos = tensors.map(({ name: tensor, dimensions }, index) => {
    const type = dimensions.length === 1 ? types.F32 : types[weights];
    const info = [string(tensor), u32(dimensions.length), ...dimensions.map(u64), u32(type), u64(offset)];
    offset += padded(blobs[index]).length;
    return Buffer.concat(info);
  });
  const head = [Buffer.from('GGUF'), u32(3), u64(tensors.length), u64(values.length)];
  const pairs = values.map(([key, value]) => Buffer.concat([string(key), value]));
  return Buffer.concat([padded(Buffer.concat([...head, ...pairs, ...infos])), ...blobs.map(padded)]);
}

const types = { F32: 0, F16: 1 };

function modelValues({ architecture, name, width, layers, heads, hidden, contextLength }, weights) {
  const own = {
    context_length: number(contextLength),
    embedding_length: number(width),
    block_count: number(layers),
    feed_forward_length: number(hidden),
    'attention.head_count': number(heads),
    'attention.head_count_kv': number(heads),
    'attention.layer_norm_rms_epsilon': real(1e-5),
    'attention.key_length': number(width / heads),
    'attention.value_length': number(width / heads),
    'rope.dimension_count': number(width / heads),
    'rope.freq_base': real(10_000),
  };
  return [
    ['general.architecture', text(architecture)],
    ['general.name', text(name)],
    ['general.file_type', number(types[weights])],
    ...Object.entries(own).map(([key, value]) => [`${architecture}.${key}`, value]),
  ];
}

function vocabularyValues({
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
    token_type: list(5, kinds.map(i32)),
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

// Dimensions as ggml counts them, the fastest first; without output.weight the embeddings serve for it.
function tensorsOf({ width, layers, hidden, words }) {
  const block = {
    attn_norm: [width],
    attn_q: [width, width],
    attn_k: [width, width],
    attn_v: [width, width],
    attn_output: [width, width],
    ffn_norm: [width],
    ffn_gate: [width, hidden],
    ffn_up: [width, hidden],
    ffn_down: [hidden, width],
  };
  const blocks = Array.from({ length: layers }, (_, layer) =>
    Object.entries(block).map(([part, dimensions]) => ({ name: `blk.${layer}.${part}.weight`, dimensions })),
  );
  return [
    { name: 'token_embd.weight', dimensions: [width, words] },
    ...blocks.flat(),
    { name: 'output_norm.weight', dimensions: [width] },
  ];
}

function numbers(type, count, draw) {
  const size = type === 'F32' ? 4 : 2;
  const bytes = Buffer.alloc(count * size);
  for (let index = 0; index < count; index++) {
    if (type === 'F32') bytes.writeFloatLE(draw(), index * size);
    else bytes.writeUInt16LE(half(draw()), index * size);
  }
  return bytes;
}

const single = new DataView(new ArrayBuffer(4));

/** The bits of a small number in half precision, cut off and not rounded: weights are random anyway. */
function half(value) {
  single.setFloat32(0, value);
  const bits = single.getUint32(0);
  const exponent = ((bits >>> 23) & 0xff) - 127 + 15;
  if (exponent >= 31) throw new RangeError(`${value} is too large for F16`);
  const sign = (bits >>> 16) & 0x8000;
  return exponent <= 0 ? sign : sign | (exponent << 10) | ((bits >>> 13) & 0x3ff);
}

/** Draws normally distributed numbers: the same ones for the same seed. */
function normalNumbers(seed, spread) {
  let state = seed >>> 0;
  const uniform = () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
  return () => spread * Math.sqrt(-2 * Math.log(1 - uniform())) * Math.cos(2 * Math.PI * uniform());
}

const alignment = 32;
const padded = (bytes) => Buffer.concat([bytes, Buffer.alloc((alignment - (bytes.length % alignment)) % alignment)]);

const bytes = (size, write) => {
  const buffer = Buffer.alloc(size);
  write(buffer);
  return buffer;
};
const u32 = (value) => bytes(4, (buffer) => buffer.writeUInt32LE(value));
const i32 = (value) => bytes(4, (buffer) => buffer.writeInt32LE(value));
const f32 = (value) => bytes(4, (buffer) => buffer.writeFloatLE(value));
const u64 = (value) => bytes(8, (buffer) => buffer.writeBigUInt64LE(BigInt(value)));
const string = (value) => Buffer.concat([u64(Buffer.byteLength(value)), Buffer.from(value)]);

// Values of the metadata: the number of their type, then themselves.
const number = (value) => Buffer.concat([u32(4), u32(value)]);
const real = (value) => Buffer.concat([u32(6), f32(value)]);
const flag = (value) => Buffer.concat([u32(7), Buffer.from([value ? 1 : 0])]);
const text = (value) => Buffer.concat([u32(8), string(value)]);
const list = (type, entries) => Buffer.concat([u32(9), u32(type), u64(entries.length), ...entries]);
