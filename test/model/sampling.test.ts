import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Sequence } from '../../src/inference/contract/engine.ts';
import type { SamplingParams } from '../../src/inference/contract/samplingParams.ts';
import { userPrompt, generate } from '../contracts/generation.ts';
import { openDemo, type Demo } from './demo.ts';
import { deviation, firstTokenDistribution, sampleFirstTokens, weighted, type Distribution } from './firstTokens.ts';

const prompt = userPrompt('Hm');
const sampleCount = 150;

describe('sampling', () => {
  let demo: Demo;
  let sequence: Sequence;
  /** The distribution at temperature 1 without truncation, most probable first. */
  let unscaled: Distribution;
  beforeAll(async () => {
    demo = await openDemo();
    sequence = (await demo.open(1)).sequence();
    unscaled = await firstTokenDistribution(demo, prompt);
  });
  afterAll(() => demo.close());

  const sample = (sampling: Partial<SamplingParams>, count = sampleCount): Promise<ReadonlyMap<string, number>> =>
    sampleFirstTokens(sequence, prompt, sampling, { count });

  /** The distribution at a temperature t: p^(1/t), normalized. */
  const scaled = (temperature: number): Distribution => weighted(unscaled, (_, p) => p ** (1 / temperature - 1));

  it('samples each token with its probability at the temperature', async () => {
    for (const temperature of [1, 4]) {
      const counts = await sample({ temperature });
      for (const [label, p] of [...scaled(temperature)].slice(0, 5)) {
        expect(deviation(counts, label, p), `${label} at ${temperature}`).toBeLessThan(4);
      }
    }
    expect([...(await sample({ temperature: 0 }, 20)).keys()]).toEqual([[...unscaled.keys()][0]]);
  });

  it('samples from all tokens without truncation', async () => {
    expect((await sample({ temperature: 4 })).size).toBeGreaterThan(60);
  });

  // At temperature 4, 150 samples contain every one of a few candidates.
  it('samples from exactly the k most probable tokens with top_k', async () => {
    const likeliest = [...unscaled.keys()].slice(0, 5);
    expect([...(await sample({ temperature: 4, top_k: 5 })).keys()].toSorted()).toEqual(likeliest.toSorted());
  });

  it('samples from exactly the nucleus with top_p', async () => {
    const share = 0.9;
    let sum = 0;
    const nucleus = [...unscaled].filter(([, p]) => (sum += p) - p < share).map(([label]) => label);
    expect(nucleus.length).toBeGreaterThan(1);
    expect([...(await sample({ temperature: 4, top_p: share })).keys()].toSorted()).toEqual(nucleus.toSorted());
  });

  it('samples from exactly the tokens above the relative threshold of min_p', async () => {
    const maxProbability = Math.max(...unscaled.values());
    const share = [0.3, 0.1, 0.03, 0.01, 0.003].find(
      (part) => [...unscaled.values()].filter((p) => p >= part * maxProbability).length > 2,
    );
    if (share === undefined) throw new Error('the distribution has only one peak');
    const expected = [...unscaled].filter(([, p]) => p >= share * maxProbability).map(([label]) => label);
    expect([...(await sample({ temperature: 4, min_p: share })).keys()].toSorted()).toEqual(expected.toSorted());
  });

  it('uses a random seed for seed 0', async () => {
    expect((await sample({ temperature: 4, seed: 0 }, 100)).size).toBeGreaterThan(20);
  });

  it('generates the same text with the same seed', async () => {
    const hot = { sampling: { temperature: 2, seed: 42, max_tokens: 30 } };
    const { text } = await generate(sequence, userPrompt('Hm'), hot);
    expect((await generate(sequence, userPrompt('Hm'), hot)).text).toBe(text);
    expect((await generate(sequence, userPrompt('Hm'), { sampling: { ...hot.sampling, seed: 43 } })).text).not.toBe(
      text,
    );
  });

  it.each([{ repeat_penalty: 10 }, { presence_penalty: 50 }, { frequency_penalty: 50 }])(
    'repeats fewer tokens with %j',
    async (penalty) => {
      const free = await answers({});
      const penalized = await answers(penalty);
      expect(penalized).not.toEqual(free);
      expect(distinctShare(penalized)).toBeGreaterThan(distinctShare(free));
    },
  );

  // Answers in which words come back: which ones do depends on the weights.
  const messages = ['Write a poem.', 'Sing me a song.', 'Who are you, what do you do all day, and where, and why?'];

  async function answers(penalty: Partial<SamplingParams>): Promise<readonly string[]> {
    const texts: string[] = [];
    for (const message of messages) {
      const sampling = { temperature: 0, max_tokens: 40, ...penalty };
      texts.push((await generate(sequence, userPrompt(message), { sampling })).text);
    }
    return texts;
  }

  /** Share of distinct tokens in each text, of all texts together. */
  function distinctShare(texts: readonly string[]): number {
    const counts = texts.map((text) => demo.tokenizer.tokenizePlain(text));
    const distinct = counts.reduce((sum, tokens) => sum + new Set(tokens).size, 0);
    return distinct / counts.reduce((sum, { length }) => sum + length, 0);
  }

  it('penalizes tokens by presence_penalty and frequency_penalty', async () => {
    const repetitivePrompt = userPrompt('Yes yes yes yes yes yes yes yes. No.');
    const count = async (sampling: Partial<SamplingParams>): Promise<number> =>
      (await generate(sequence, repetitivePrompt, { sampling: { temperature: 0, max_tokens: 12, ...sampling } })).tokens
        .generated;
    const free = await generate(sequence, repetitivePrompt, { sampling: { temperature: 0, max_tokens: 12 } });
    for (const sampling of [{ presence_penalty: -50 }, { frequency_penalty: -50 }]) {
      const { text } = await generate(sequence, repetitivePrompt, {
        sampling: { temperature: 0, max_tokens: 12, ...sampling },
      });
      expect(text).not.toBe(free.text);
    }
    // A negative penalty is a reward: the most frequent token is repeated without an end.
    expect(await count({ frequency_penalty: -50 })).toBe(12);
  });

  it('stops at strings that span several tokens, and emits no part of them', async () => {
    const whole = await generate(sequence, userPrompt('How are you today?'));
    expect(demo.tokenizer.tokenizePlain(whole.text).length).toBeGreaterThan(4);
    for (let offset = 1; offset < whole.text.length - 3; offset++) {
      for (const length of [1, 3, 9]) {
        const stop = whole.text.slice(offset, offset + length);
        const cut = await generate(sequence, userPrompt('How are you today?'), { sampling: { stop: [stop] } });
        expect(cut).toMatchObject({ finishReason: 'stop', text: whole.text.slice(0, whole.text.indexOf(stop)) });
        expect(cut.pieces.join('')).toBe(cut.text);
      }
    }
  });
});
