import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Sampling, Sequence } from '../../src/engine/engine.ts';
import { ask, say } from '../contracts/speaking.ts';
import { openDemo, type Demo } from './demo.ts';

describe('sampling', () => {
  let demo: Demo;
  let sequence: Sequence;
  beforeAll(async () => {
    demo = await openDemo();
    sequence = (await demo.open(1)).sequence();
  });
  afterAll(() => demo.close());

  /** How many different first tokens come in 100 draws. */
  async function firstTokens(sampling: Partial<Sampling>): Promise<number> {
    const seen = new Set<string>();
    for (let seed = 1; seed <= 100; seed++) {
      const { text, stopped } = await say(sequence, ask('Hm'), { sampling: { max_tokens: 1, seed, ...sampling } });
      seen.add(`${stopped} ${text}`);
    }
    return seen.size;
  }

  it('draws from all tokens when nothing bounds it, and from few when something does', async () => {
    const free = await firstTokens({ temperature: 4 });
    expect(free).toBeGreaterThan(70);
    expect(await firstTokens({ temperature: 4, top_k: 5 })).toBeLessThanOrEqual(5);
    expect(await firstTokens({ temperature: 4, top_p: 0.3 })).toBeLessThan(free / 2);
    expect(await firstTokens({ temperature: 4, min_p: 0.3 })).toBeLessThan(free / 2);
    expect(await firstTokens({ temperature: 0 })).toBe(1);
  });

  it('draws anew each time with seed 0', async () => {
    expect(await firstTokens({ temperature: 4, seed: 0 })).toBeGreaterThan(20);
  });

  it('says the same again with the same seed', async () => {
    const wild = { sampling: { temperature: 2, seed: 42, max_tokens: 30 } };
    const { text } = await say(sequence, ask('Hm'), wild);
    expect((await say(sequence, ask('Hm'), wild)).text).toBe(text);
    expect((await say(sequence, ask('Hm'), { sampling: { ...wild.sampling, seed: 43 } })).text).not.toBe(text);
  });

  it.each([{ repeat_penalty: 10 }, { presence_penalty: 50 }, { frequency_penalty: 50 }])(
    'writes no token twice within reach with %j',
    async (penalty) => {
      const speaking = { temperature: 0, max_tokens: 40 };
      const { text: plain } = await say(sequence, ask('Tell me a long story.'), { sampling: speaking });
      const { text } = await say(sequence, ask('Tell me a long story.'), { sampling: { ...speaking, ...penalty } });
      expect(text).not.toBe(plain);
      const tokens = demo.vocabulary.plain(text);
      expect(new Set(tokens).size / tokens.length).toBeGreaterThan(
        new Set(demo.vocabulary.plain(plain)).size / demo.vocabulary.plain(plain).length,
      );
    },
  );
});
