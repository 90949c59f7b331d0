import { expect } from 'vitest';
import type { Model } from '../../src/inference/contract/engine.ts';
import { generate, userPrompt } from '../contracts/generation.ts';

/** Generations of an inference server of the tests, in order: the tokens that each computed after its connection was closed. */
export type ComputedLog = readonly { readonly afterClose: number }[];

/** Cancels a generation at its first text, and expects that the server computes one more token at most. */
export async function expectCancelWithinOneToken(model: Model, computed: ComputedLog): Promise<void> {
  await using sequence = model.openSequence();
  const control = new AbortController();
  const before = computed.length;
  const cut = await generate(sequence, userPrompt('Tell me a long story about the sea, the wind and the old house.'), {
    sampling: { max_tokens: 500, max_tokens_per_second: 1 },
    signal: control.signal,
    onText: () => control.abort(),
  });
  expect(cut.finishReason).toBe('aborted');
  // The next request waits until the server has ended the last one.
  await generate(sequence, userPrompt('Hello!'), { sampling: { max_tokens: 1 } });
  expect(computed[before]?.afterClose).toBeLessThanOrEqual(1);
}
