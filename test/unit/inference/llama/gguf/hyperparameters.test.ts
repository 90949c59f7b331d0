import { describe, expect, it } from 'vitest';
import type { GgufHeader, NumberList, TensorInfo } from '../../../../../src/inference/llama/gguf/header.ts';
import { findHyperparameterProblem } from '../../../../../src/inference/llama/gguf/hyperparameters.ts';
import { findTypeProblem } from '../../../../../src/inference/llama/gguf/validateFile.ts';

type Value = string | number | boolean | readonly number[];

const tensor = (name: string, type = 0, dimensions: readonly number[] = [64]): TensorInfo => ({
  name,
  dimensions,
  type,
  offset: 0,
});

const attention = ['attn_q', 'attn_k', 'attn_v', 'attn_output'].map((part) => `blk.0.${part}.weight`);

/** A header with these values of an architecture, and tensors of these names. */
function headerOf(
  architecture: string,
  values: Readonly<Record<string, Value>>,
  { tensors = attention, listKind = 'i32' as NumberList['kind'], vocabulary = {} } = {},
): GgufHeader {
  const lists = new Map<string, NumberList>();
  const all = new Map<string, string | number | boolean>([['general.architecture', architecture]]);
  for (const [key, value] of Object.entries(values)) {
    const name = `${architecture}.${key}`;
    if (typeof value === 'object') lists.set(name, { kind: listKind, numbers: value });
    all.set(name, typeof value === 'object' ? value.length : value);
  }
  for (const [key, length] of Object.entries(vocabulary)) all.set(`tokenizer.ggml.${key}`, Number(length));
  return {
    values: all,
    kinds: new Map(),
    lists,
    tensors: tensors.map((name) => tensor(name, 0, [256, 256])),
    hasDuplicateTokens: false,
    bytesWithoutToken: [],
  };
}

const llama = {
  block_count: 4,
  context_length: 2048,
  embedding_length: 256,
  feed_forward_length: 512,
  'attention.head_count': 8,
  'attention.head_count_kv': 4,
  'attention.layer_norm_rms_epsilon': 1e-5,
  'attention.key_length': 32,
  'attention.value_length': 32,
  'rope.dimension_count': 32,
};

describe('a hyperparameter that llama.cpp aborts on is found:', () => {
  it.each<[string, Readonly<Record<string, Value>>, string]>([
    ['more layers than it has room for', { block_count: 513 }, 'llama.block_count is 513'],
    ['a context that 32 bits cannot count', { context_length: 2 ** 31 }, 'llama.context_length is 2147483648'],
    ['no heads of keys and values', { 'attention.head_count_kv': 0 }, 'llama.attention.head_count_kv is 0'],
    ['a count of heads that overflows', { 'attention.head_count_kv': 2 ** 31 }, 'head_count_kv is 2147483648'],
    [
      'heads that are no multiple of these',
      { 'attention.head_count_kv': 3 },
      'is 3, which does not divide the 8 heads',
    ],
    ['more of these than heads', { 'attention.head_count_kv': 16 }, 'is 16, which does not divide the 8 heads'],
    ['a negative entry of their list', { 'attention.head_count_kv': [4, -1] }, 'head_count_kv is -1'],
    ['values without size', { 'attention.value_length': 0 }, 'llama.attention.value_length is 0'],
    ['keys of a size that overflows', { 'attention.key_length': 2 ** 31 }, 'key_length is 2147483648'],
    ['an odd rotation', { 'rope.dimension_count': 31 }, 'rope.dimension_count is 31, and it must be even'],
    ['a rotation beyond the head', { 'rope.dimension_count': 34 }, 'is 34, and a head has 32 values'],
    ['a rotation of half a head', { 'rope.dimension_count': 16 }, 'is 16, and a head has 32 values'],
    ['keys of another size than values', { 'attention.value_length': 16 }, 'keys of 32 values, and values of 16'],
    ['more heads than its weights', { 'attention.head_count': 16 }, 'attn_q.weight has 256 rows for 16 heads of 32'],
    ['a negative epsilon', { 'attention.layer_norm_rms_epsilon': -1e-5 }, 'layer_norm_rms_epsilon is -0.00001'],
    ['an epsilon that is no number', { 'attention.layer_norm_rms_epsilon': NaN }, 'layer_norm_rms_epsilon is NaN'],
    ['another epsilon', { 'attention.layer_norm_epsilon': -1 }, 'layer_norm_epsilon is -1'],
    ['too many experts', { expert_count: 513, expert_used_count: 2 }, 'expert_count is 513'],
    ['more experts used than there are', { expert_count: 4, expert_used_count: 5 }, 'expert_used_count is 5, of 4'],
    ['experts of which none is used', { expert_count: 4 }, 'expert_used_count is 0, of 4'],
    ['an unknown rope scaling', { 'rope.scaling.type': 'bent' }, 'rope.scaling.type is "bent"'],
  ])('%s', (_, overrides, problem) => {
    expect(findHyperparameterProblem(headerOf('llama', { ...llama, ...overrides }))).toContain(problem);
  });

  it('a rotation beyond a head whose size follows from width and heads', () => {
    const { 'attention.key_length': _, ...values } = { ...llama, 'rope.dimension_count': 64 };
    expect(findHyperparameterProblem(headerOf('llama', values))).toContain('a head has 32 values');
  });

  it('a list of another type than it reads', () => {
    const values = { ...llama, 'attention.head_count_kv': [4, 4] };
    expect(findHyperparameterProblem(headerOf('llama', values, { listKind: 'f32' }))).toContain('is a list of f32');
  });

  it('fewer scores than tokens', () => {
    const vocabulary = { tokens: 100, scores: 99, token_type: 100 };
    expect(findHyperparameterProblem(headerOf('llama', llama, { vocabulary }))).toBe(
      'its tokenizer.ggml.scores has 99 entries for 100 tokens',
    );
  });
});

describe('an unusual model is not refused:', () => {
  it.each<[string, GgufHeader]>([
    ['a usual one', headerOf('llama', llama, { vocabulary: { tokens: 100, token_type: 100 } })],
    [
      'one without any optional key',
      headerOf('llama', { block_count: 4, context_length: 2048, embedding_length: 256, 'attention.head_count': 8 }),
    ],
    [
      'layers without attention in a list (LFM2)',
      headerOf(
        'lfm2',
        { ...llama, 'attention.head_count_kv': [0, 0, 4, 0], 'shortconv.l_cache': 3 },
        { tensors: [...attention, 'blk.1.shortconv.conv.weight'] },
      ),
    ],
    [
      'a recurrent one without heads (Mamba)',
      headerOf(
        'mamba',
        { block_count: 24, 'attention.head_count': 0, 'attention.head_count_kv': 0 },
        { tensors: ['blk.0.ssm_in.weight'] },
      ),
    ],
    [
      'a hybrid one whose linear layers have keys and no heads',
      headerOf('kimi-linear', { ...llama, 'attention.head_count_kv': 0 }, { tensors: [...attention, 'blk.0.ssm_a'] }),
    ],
    [
      'heads, heads of keys and feed-forward widths per layer (OpenELM)',
      headerOf('openelm', {
        ...llama,
        'attention.head_count': [12, 16, 20, 24],
        'attention.head_count_kv': [3, 4, 5, 6],
        feed_forward_length: [512, 768, 1024, 1280],
      }),
    ],
    [
      'latent attention with small rotation (DeepSeek 2)',
      headerOf(
        'deepseek2',
        { ...llama, 'attention.head_count_kv': 1, 'attention.key_length': 576, 'rope.dimension_count': 64 },
        { tensors: ['blk.0.attn_kv_b.weight'] },
      ),
    ],
    [
      'a sliding window with heads of its own (Gemma)',
      headerOf('gemma4', {
        ...llama,
        'attention.key_length': 512,
        'attention.key_length_swa': 256,
        'rope.dimension_count': 512,
        'rope.dimension_count_swa': 256,
        'attention.sliding_window': 512,
      }),
    ],
    ['heads wider than the width allows (Gemma)', headerOf('gemma', { ...llama, 'attention.key_length': 256 })],
    ['experts', headerOf('qwen3moe', { ...llama, expert_count: 128, expert_used_count: 8 })],
    ['a single expert of Hunyuan', headerOf('hunyuan-dense', { ...llama, expert_count: 1, expert_used_count: 0 })],
    ['queries with a gate (Qwen3-Next)', headerOf('qwen3next', { ...llama, 'attention.head_count': 4 })],
    ['a partial rotation (Phi)', headerOf('phi2', { ...llama, 'rope.dimension_count': 16 })],
    ['rope scaling', headerOf('llama', { ...llama, 'rope.scaling.type': 'yarn' })],
    ['a context of ten million tokens', headerOf('llama4', { ...llama, context_length: 10_485_760 })],
  ])('%s', (_, header) => expect(findHyperparameterProblem(header)).toBeUndefined());
});

const [f16, q8, i16, i32, bf16] = [1, 8, 25, 26, 30];

describe('a tensor of a type that llama.cpp cannot calculate with is found:', () => {
  it.each([
    ['a norm that is not f32', tensor('output_norm.weight', f16)],
    ['a quantized norm', tensor('blk.3.attn_q_norm.weight', q8)],
    ['a bias that is not f32', tensor('blk.3.attn_q.bias', bf16)],
    ['rope factors that are not f32', tensor('rope_freqs.weight', f16)],
    ['whole numbers for weights', tensor('blk.0.ffn_down.weight', i32, [64, 64])],
    ['whole numbers for embeddings', tensor('token_embd.weight', i16, [64, 64])],
  ])('%s', (_, found) => expect(findTypeProblem([found])).toContain(found.name));

  it.each([
    ['weights of any other type', tensor('blk.0.ffn_down.weight', 99, [64, 64])],
    ['half precision for weights', tensor('output.weight', f16, [64, 64])],
    ['indexes', tensor('blk.0.ffn_gate_tid2eid.weight', i32, [6, 64])],
    ['matrices of biases', tensor('blk.0.ffn_down_exps.bias', bf16, [64, 8])],
    ['a norm in f32', tensor('blk.0.post_ffw_norm_1.weight')],
  ])('not %s', (_, allowed) => expect(findTypeProblem([allowed])).toBeUndefined());
});
