import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Token } from 'node-llama-cpp';
import type { SamplingParams, Sequence } from '../../src/engine/engine.ts';
import { userPrompt, generate } from '../contracts/generation.ts';
import { contextSize, openDemo, type Demo } from './demo.ts';

/** What may come first in an answer, and how likely that is. */
type Distribution = ReadonlyMap<string, number>;

const prompt = userPrompt('Hm');
const draws = 300;

describe('sampling', () => {
  let demo: Demo;
  let sequence: Sequence;
  /** At temperature 1 with nothing cut off, the likeliest first. */
  let plain: Distribution;
  beforeAll(async () => {
    demo = await openDemo();
    sequence = (await demo.open(1)).sequence();
    plain = await distribution();
  });
  afterAll(() => demo.close());

  /** The model's own distribution of the first token, asked of the library without our code in between. */
  async function distribution(): Promise<Distribution> {
    const context = await demo.weights.createContext({ contextSize, batchSize: 256, threads: 1, flashAttention: true });
    const tokens = demo.renderer.tokens(demo.renderer.render(prompt));
    const last = tokens.pop();
    if (last === undefined) throw new Error('an empty prompt');
    const options = { temperature: 1, minP: 0, topP: 1, topK: 0 };
    const results = await context
      .getSequence()
      .controlledEvaluate([...tokens, [last, { generateNext: { probabilities: true, options } }]]);
    await context.dispose();
    const likely = new Map<string, number>();
    for (const [token, p] of results.at(-1)?.next.probabilities ?? []) {
      const label = labelOf(token);
      likely.set(label, (likely.get(label) ?? 0) + p);
    }
    return new Map([...likely].toSorted(([, a], [, b]) => b - a));
  }

  const labelOf = (token: Token): string =>
    demo.weights.isEogToken(token)
      ? 'end'
      : `more ${demo.tokenizer.detokenize([token], [], false).replace(/\uFFFD+$/, '')}`;

  /** What came first in so many answers with other seeds, and how often. */
  async function drawn(sampling: Partial<SamplingParams>, count = draws): Promise<ReadonlyMap<string, number>> {
    const seen = new Map<string, number>();
    for (let seed = 1; seed <= count; seed++) {
      const { text, finishReason } = await generate(sequence, prompt, {
        sampling: { max_tokens: 1, seed, ...sampling },
      });
      const label = finishReason === 'end' ? 'end' : `more ${text}`;
      seen.set(label, (seen.get(label) ?? 0) + 1);
    }
    return seen;
  }

  /** What of the plain distribution may be drawn with a temperature: p^(1/t), made to add up to 1 again. */
  function heated(temperature: number): Distribution {
    const raised = [...plain].map(([label, p]) => [label, p ** (1 / temperature)] as const);
    const sum = raised.reduce((all, [, p]) => all + p, 0);
    return new Map(raised.map(([label, p]) => [label, p / sum]));
  }

  it('draws as often as the temperature makes likely', async () => {
    for (const temperature of [1, 4]) {
      const seen = await drawn({ temperature });
      for (const [label, p] of [...heated(temperature)].slice(0, 5)) {
        const expected = p * draws;
        const noise = 4 * Math.sqrt(draws * p * (1 - p)) + 1;
        expect(Math.abs((seen.get(label) ?? 0) - expected), `${label} at ${temperature}`).toBeLessThan(noise);
      }
    }
    expect([...(await drawn({ temperature: 0 }, 20)).keys()]).toEqual([[...plain.keys()][0]]);
  });

  it('draws from all tokens when nothing bounds it', async () => {
    expect((await drawn({ temperature: 4 })).size).toBeGreaterThan(120);
  });

  // At a temperature of 4 everything that may come does come in a few hundred draws, if it is not many.
  it('draws from exactly the k likeliest with top_k', async () => {
    const likeliest = [...plain.keys()].slice(0, 5);
    expect([...(await drawn({ temperature: 4, top_k: 5 })).keys()].toSorted()).toEqual(likeliest.toSorted());
  });

  it('draws from exactly those that make up the share of top_p', async () => {
    const share = 0.9;
    let sum = 0;
    const nucleus = [...plain].filter(([, p]) => (sum += p) - p < share).map(([label]) => label);
    expect(nucleus.length).toBeGreaterThan(1);
    expect([...(await drawn({ temperature: 4, top_p: share })).keys()].toSorted()).toEqual(nucleus.toSorted());
  });

  it('draws from exactly those that have the share of the likeliest of min_p', async () => {
    const most = Math.max(...plain.values());
    const share = [0.3, 0.1, 0.03, 0.01, 0.003].find(
      (part) => [...plain.values()].filter((p) => p >= part * most).length > 2,
    );
    if (share === undefined) throw new Error('the distribution has only one peak');
    const enough = [...plain].filter(([, p]) => p >= share * most).map(([label]) => label);
    expect([...(await drawn({ temperature: 4, min_p: share })).keys()].toSorted()).toEqual(enough.toSorted());
  });

  it('draws anew each time with seed 0', async () => {
    expect((await drawn({ temperature: 4, seed: 0 }, 100)).size).toBeGreaterThan(20);
  });

  it('says the same again with the same seed', async () => {
    const wild = { sampling: { temperature: 2, seed: 42, max_tokens: 30 } };
    const { text } = await generate(sequence, userPrompt('Hm'), wild);
    expect((await generate(sequence, userPrompt('Hm'), wild)).text).toBe(text);
    expect((await generate(sequence, userPrompt('Hm'), { sampling: { ...wild.sampling, seed: 43 } })).text).not.toBe(
      text,
    );
  });

  it.each([{ repeat_penalty: 10 }, { presence_penalty: 50 }, { frequency_penalty: 50 }])(
    'writes no token twice within reach with %j',
    async (penalty) => {
      const speaking = { temperature: 0, max_tokens: 40 };
      const { text: free } = await generate(sequence, userPrompt('Tell me a long story.'), { sampling: speaking });
      const { text } = await generate(sequence, userPrompt('Tell me a long story.'), {
        sampling: { ...speaking, ...penalty },
      });
      expect(text).not.toBe(free);
      expect(variety(text)).toBeGreaterThan(variety(free));
    },
  );

  /** Different tokens of all tokens. */
  function variety(text: string): number {
    const tokens = demo.tokenizer.tokenizePlain(text);
    return new Set(tokens).size / tokens.length;
  }

  it('makes rarer by presence_penalty what has come at all, and by frequency_penalty what has come often', async () => {
    const often = userPrompt('Yes yes yes yes yes yes yes yes. No.');
    const count = async (sampling: Partial<SamplingParams>): Promise<number> =>
      (await generate(sequence, often, { sampling: { temperature: 0, max_tokens: 12, ...sampling } })).tokens.generated;
    const free = await generate(sequence, often, { sampling: { temperature: 0, max_tokens: 12 } });
    for (const sampling of [{ presence_penalty: -50 }, { frequency_penalty: -50 }]) {
      const { text } = await generate(sequence, often, { sampling: { temperature: 0, max_tokens: 12, ...sampling } });
      expect(text).not.toBe(free.text);
    }
    // Below zero it rewards: the token that has come most often comes for ever.
    expect(await count({ frequency_penalty: -50 })).toBe(12);
  });

  it('stops at strings that lie across the borders of tokens, and sends no part of them', async () => {
    const whole = await generate(sequence, userPrompt('How are you today?'));
    expect(demo.tokenizer.tokenizePlain(whole.text).length).toBeGreaterThan(4);
    for (let at = 1; at < whole.text.length - 3; at++) {
      for (const length of [1, 3, 9]) {
        const stop = whole.text.slice(at, at + length);
        const cut = await generate(sequence, userPrompt('How are you today?'), { sampling: { stop: [stop] } });
        expect(cut).toMatchObject({ finishReason: 'stop', text: whole.text.slice(0, whole.text.indexOf(stop)) });
        expect(cut.pieces.join('')).toBe(cut.text);
      }
    }
  });
});
