import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { families } from '../../scripts/gguf/families.mjs';
import { llamaEngine } from '../../src/inference/llama/engine.ts';
import { replyLead } from '../../src/inference/decoding/templateProbes.ts';
import { neverAborted as signal, userPrompt } from '../contracts/generation.ts';
import { openTinyModels } from './tiny.ts';

const mistral = 'Mistral 7B Instruct v0.3';

describe('white space before a reply', () => {
  let models: Awaited<ReturnType<typeof openTinyModels>>;
  beforeAll(async () => void (models = await openTinyModels([...families.keys()])));
  afterAll(() => models.close());

  it.each([...families.keys()].map((name) => [name, name === mistral ? ' ' : ''] as const))(
    'in the chat template of %s is %j',
    (name, lead) => {
      expect(replyLead(models.get(name).renderer)).toBe(lead);
    },
  );

  it('is part of the scored reply', async () => {
    await using engine = llamaEngine();
    const model = await engine.load(models.pathOf(mistral), { contextSize: 512, slots: 1, threads: 1, gpu: 'off' });
    const { tokenizer, renderer, weights } = models.get(mistral);
    const prompt = renderer.tokens(renderer.render(userPrompt('Which?')));
    const context = await weights.createContext({ contextSize: 512, threads: 1 });
    const sequence = context.getSequence();
    const answer = tokenizer.tokenizeContinuation(' or');
    const results = await sequence.controlledEvaluate(
      [...prompt, ...answer].map((token) => [token, { generateNext: { probabilities: true } }]),
    );
    const end = tokenizer.endTokens.reduce(
      (sum, token) => sum + (results.at(-1)?.next.probabilities?.get(token) ?? 0),
      0,
    );
    const text = answer.map((token, index) => results[prompt.length - 1 + index]?.next.probabilities?.get(token) ?? 0);
    const expected = [...text, end].reduce((sum, probability) => sum + Math.log(probability), 0);
    const { scores } = await model.openSequence().score(userPrompt('Which?'), ['or'], { signal });
    expect(scores[0]).toBeCloseTo(expected, 3);
  });
});
