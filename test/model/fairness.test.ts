import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Prompt } from '../../src/chat/dialog.ts';
import type { Engine, Model } from '../../src/inference/contract/engine.ts';
import { llamaEngine } from '../../src/inference/llama/engine.ts';
import { userPrompt, longText, generate } from '../contracts/generation.ts';
import { demoFile } from './demo.ts';

describe('a long prompt', () => {
  let engine: Engine;
  let model: Model;
  beforeAll(async () => {
    engine = llamaEngine();
    model = await engine.load(demoFile, { contextSize: 2048, slots: 4, threads: 1, gpu: 'off' });
  });
  afterAll(() => engine[Symbol.asyncDispose]());

  const long = userPrompt(longText(140));

  it('lets another sequence generate a token for every 65 prompt tokens', async () => {
    const other = model.openSequence();
    let isPrefilling = true;
    const prefill = generate(model.openSequence(), long, { sampling: { max_tokens: 1 } }).finally(
      () => (isPrefilling = false),
    );
    let tokensGenerated = 0;
    while (isPrefilling)
      await generate(other, userPrompt('Tell me a joke'), {
        sampling: { max_tokens: 20 },
        onText: () => void tokensGenerated++,
      });
    const { tokens } = await prefill;
    expect(tokens.prompt).toBeGreaterThan(1500);
    // The other sequence generates short answers, and the prefill of each takes batches, too.
    expect(tokensGenerated).toBeGreaterThan((0.3 * tokens.prompt) / 65);
  });

  it('does not delay a short one', async () => {
    const order: string[] = [];
    const prefillPrompt = async (name: string, prompt: Prompt): Promise<void> => {
      await generate(model.openSequence(), prompt, { sampling: { max_tokens: 1 } });
      order.push(name);
    };
    await Promise.all([
      // Not the prompt of the test above, and not the same twice: a slot that has it would spare its prefill.
      prefillPrompt('long', userPrompt(`First: ${longText(60)}`)),
      prefillPrompt('another long', userPrompt(`Second: ${longText(60)}`)),
      prefillPrompt('short', userPrompt('Hm')),
    ]);
    expect(order[0]).toBe('short');
  });
});
