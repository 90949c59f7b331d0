import type { Token } from 'node-llama-cpp';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Prompt } from '../../src/chat/dialog.ts';
import { generate, neverAborted, userPrompt } from '../contracts/generation.ts';
import { contextSize, openDemo, type Demo } from './demo.ts';

const signal = neverAborted;

describe('the scores of answers', () => {
  let demo: Demo;
  beforeAll(async () => void (demo = await openDemo()));
  afterAll(() => demo.close());

  /** The score of an answer by a greedy evaluation of one token at a time, in a context of its own. */
  async function scoreDirectly(prompt: Prompt, answer: string): Promise<number> {
    const context = await demo.weights.createContext({ contextSize, batchSize: 256, threads: 1 });
    const sequence = context.getSequence();
    const probabilitiesAfter = async (tokens: Token[]): Promise<ReadonlyMap<Token, number>> => {
      const steps = sequence.evaluateWithMetadata(tokens, { probabilities: true }, { yieldEogToken: true });
      const { value } = await steps.next();
      await steps.return();
      return value?.probabilities ?? new Map();
    };
    let probabilities = await probabilitiesAfter(demo.renderer.tokens(demo.renderer.render(prompt)));
    let sum = 0;
    for (const token of demo.tokenizer.tokenizePlain(answer)) {
      sum += Math.log(probabilities.get(token) ?? 0);
      probabilities = await probabilitiesAfter([token]);
    }
    await context.dispose();
    return sum + Math.log(demo.tokenizer.endTokens.reduce((end, token) => end + (probabilities.get(token) ?? 0), 0));
  }

  it('are those of the tokens of an answer and of its end', async () => {
    const { sequence: open } = await demo.open(1);
    await using sequence = open();
    for (const text of ['How are you today?', 'Who are you?', 'Tell me a joke']) {
      const prompt = userPrompt(text);
      const reply = await generate(sequence, prompt, { sampling: { max_tokens: 200 } });
      expect(reply.finishReason).toBe('end');
      const answers = [reply.text, reply.text.slice(0, -1), 'no', 'zzz qqq 東京', ''];
      const { scores } = await sequence.score(prompt, answers, { signal });
      for (const [index, answer] of answers.entries())
        expect(scores[index], answer).toBeCloseTo(await scoreDirectly(prompt, answer), 1);
      expect(Math.max(...scores)).toBe(scores[0]);
    }
  });
});
