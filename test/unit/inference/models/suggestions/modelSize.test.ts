import { describe, expect, it } from 'vitest';
import { estimateSize } from '../../../../../src/inference/models/suggestions/modelSize.ts';

describe('the estimated size of a model', () => {
  it.each([
    ['qwen2.5-3b-instruct-q4_k_m.gguf', 3e9, 4.85],
    ['Qwen2.5-0.5B-Instruct-Q4_K_M.gguf', 0.5e9, 4.85],
    ['Qwen3-1.7B.Q4_K_M.gguf', 1.7e9, 4.85],
    ['SmolLM2-360M-Instruct-Q8_0.gguf', 360e6, 8.5],
    ['gpt-oss-20b-mxfp4.gguf', 20e9, 4.63],
    ['gemma-3-4b-it-BF16.gguf', 4e9, 16],
    ['Llama-3.2-1B-IQ4_XS.gguf', 1e9, 4.3],
  ])('of %s is parameters times bits per weight', (name, parameters, bits) => {
    expect(estimateSize([name])).toBe((parameters * bits) / 8);
  });

  // The sizes that the hub has of these files.
  it.each([
    ['qwen2.5-1.5b-instruct-q4_k_m.gguf', 1_117_320_736],
    ['Qwen2.5-7B-Instruct-Q4_K_M.gguf', 4_683_074_240],
  ])('of %s is within a quarter of the real one', (name, bytes) => {
    expect(Math.abs((estimateSize([name]) ?? 0) / bytes - 1)).toBeLessThan(0.25);
  });

  it('takes what the file name lacks from the name of the model', () => {
    expect(estimateSize(['model-q8_0.gguf', 'Mine 2B'])).toBe((2e9 * 8.5) / 8);
  });

  it.each([['model.gguf'], ['tiny-3b.gguf'], ['tiny-q4_k_m.gguf'], ['v3beta-q9_x.gguf']])(
    'of %s is unknown',
    (name) => {
      expect(estimateSize([name])).toBeUndefined();
    },
  );
});
