import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Engine, Model } from '../../src/engine/engine.ts';
import { llamaEngine } from '../../src/engine/llama/engine.ts';
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

  it('lets others write a token for every 65 of its own', async () => {
    const other = model.openSequence();
    let reading = true;
    const reader = generate(model.openSequence(), long, { sampling: { max_tokens: 1 } }).finally(
      () => (reading = false),
    );
    let written = 0;
    while (reading)
      await generate(other, userPrompt('Tell me a joke'), {
        sampling: { max_tokens: 20 },
        onText: () => void written++,
      });
    const { tokens } = await reader;
    expect(tokens.prompt).toBeGreaterThan(1500);
    // It says a short answer again and again, and every new turn takes batches of its own.
    expect(written).toBeGreaterThan((0.3 * tokens.prompt) / 65);
  });

  it('does not keep a short one waiting', async () => {
    const order: string[] = [];
    const read = async (name: string, prompt: typeof long): Promise<void> => {
      await generate(model.openSequence(), prompt, { sampling: { max_tokens: 1 } });
      order.push(name);
    };
    await Promise.all([read('long', long), read('another long', long), read('short', userPrompt('Hm'))]);
    expect(order[0]).toBe('short');
  });
});
