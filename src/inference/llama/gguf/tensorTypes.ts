import type { TensorInfo } from './header.ts';

// ggml types: f32, and those that hold no weights (i8, i16, i32, i64, f64).
const f32 = 0;
const numberTypes = new Set([24, 25, 26, 27, 28]);

/** Weights of matrix products and embeddings. Other tensors may hold indexes. */
const weights =
  /^(?:token_embd|output|blk\.\d+\.(?:attn_(?:q|k|v|qkv|output)|ffn_(?:gate|up|down)(?:_exps|_shexp)?))\.weight$/;
/** Vectors, which llama.cpp multiplies with or adds to f32 values: convert_hf_to_gguf.py and llama-quantize leave them f32. */
const vectors = /(?:norm(?:_\w+)?\.(?:weight|bias)|\.bias|^rope_freqs\.weight|\.rope_freqs\.weight)$/;

/** Finds a tensor of a type with which llama.cpp cannot calculate: it would abort the process at the first token. */
export function findTypeProblem(tensors: readonly TensorInfo[]): string | undefined {
  for (const { name, type, dimensions } of tensors) {
    const isVector = dimensions.length === 1 && vectors.test(name);
    if (isVector ? type !== f32 : numberTypes.has(type) && (weights.test(name) || vectors.test(name)))
      return `its tensor ${name} has the type ${type} (ggml_type), with which llama.cpp cannot calculate`;
  }
  return undefined;
}
