import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Prompt } from '../../src/chat/dialog.ts';
import type { Sequence } from '../../src/inference/contract/engine.ts';
import type { SamplingParams } from '../../src/inference/contract/samplingParams.ts';
import { any, text, type CallGrammar } from '../../src/chat/grammar/rule.ts';
import { generate, nextPrompt, userPrompt } from '../contracts/generation.ts';
import { openDemo, type Demo } from './demo.ts';
import {
  deviation,
  firstTokenDistribution,
  labelOf,
  sampleFirstTokens,
  weighted,
  type Distribution,
} from './firstTokens.ts';

const prompt = userPrompt('Hm');
const sampleCount = 150;
/** Enough for draws that must be equal one by one. */
const equalCount = 30;

describe('DRY, XTC and logit bias', () => {
  let demo: Demo;
  let open: () => Sequence;
  let sequence: Sequence;
  let unscaled: Distribution;
  beforeAll(async () => {
    demo = await openDemo();
    open = (await demo.open(2)).sequence;
    sequence = open();
    unscaled = await firstTokenDistribution(demo, prompt);
  });
  afterAll(() => demo.close());

  const sample = (
    sampling: Partial<SamplingParams>,
    from: Prompt = prompt,
    count = sampleCount,
  ): Promise<ReadonlyMap<string, number>> => sampleFirstTokens(sequence, from, sampling, { count });
  const sampleFew = (sampling: Partial<SamplingParams>, from: Prompt = prompt) => sample(sampling, from, equalCount);

  /** Checks the numbers of the tokens that are drawn most often. */
  function expectDraws(counts: ReadonlyMap<string, number>, expected: Distribution): void {
    for (const [label, p] of [...expected].toSorted(([, a], [, b]) => b - a).slice(0, 5))
      expect(deviation(counts, label, p), label).toBeLessThan(4);
  }

  /** The texts of the likeliest first tokens that are one token each. */
  const likeliestTexts = (): readonly string[] =>
    [...unscaled.keys()]
      .map((label) => label.replace(/^more /, ''))
      .filter((word) => demo.tokenizer.tokenizeContinuation(word).length === 1 && /^[A-Za-z]+$/.test(word));

  describe('logit_bias', () => {
    it('adds to the logits of the tokens of a text', async () => {
      const [first = '', second = ''] = likeliestTexts();
      expect(unscaled.get(`more ${second}`)).toBeGreaterThan(0);
      const biases = { [first]: -2, [second]: 1.5 };
      const expected = weighted(unscaled, (label) => Math.exp(biases[label.replace(/^more /, '')] ?? 0));
      expectDraws(await sample({ temperature: 1, logit_bias: biases }), expected);
    });

    it('forbids the tokens of a text', async () => {
      const [word = ''] = likeliestTexts();
      const expected = weighted(unscaled, (label) => (label === `more ${word}` ? 0 : 1));
      const counts = await sample({ temperature: 1, logit_bias: { [word]: false } });
      expect(counts.has(`more ${word}`)).toBe(false);
      expectDraws(counts, expected);
      // Not at the highest temperature, and not where it is the likeliest token, either.
      const hot = await sample({ temperature: 5, logit_bias: { [word]: false } });
      expect(hot.has(`more ${word}`)).toBe(false);
      // A word after a space is another token.
      const { text: answer } = await generate(sequence, prompt, { sampling: { logit_bias: { [word]: false } } });
      expect(answer.startsWith(word)).toBe(false);
    });

    it('makes a text certain', async () => {
      const [, , word = ''] = likeliestTexts();
      const { text: answer } = await generate(sequence, prompt, {
        sampling: { max_tokens: 1, logit_bias: { [word]: 100 } },
      });
      expect(answer).toBe(word);
    });

    it('biases each token of a text with several', async () => {
      const tokens = demo.tokenizer.tokenizeContinuation('Zebra crossing');
      expect(tokens.length).toBeGreaterThan(1);
      const sampling = { max_tokens: 12, logit_bias: { 'Zebra crossing': 100 } };
      const answer = await generate(sequence, prompt, { sampling });
      const labels = tokens.map((token) => labelOf(demo, token).replace(/^more /, ''));
      const drawn = demo.tokenizer.tokenizeContinuation(answer.text);
      expect(answer.text).not.toBe('');
      expect(drawn.length === 0 || labels.some((label) => answer.text.startsWith(label))).toBe(true);
    });

    it('does not mix with that of another sequence of the same batch', async () => {
      const [word = '', other = ''] = likeliestTexts();
      const second = open();
      const forced = (text: string): Partial<SamplingParams> => ({ max_tokens: 8, logit_bias: { [text]: 100 } });
      const answers = await Promise.all([
        generate(sequence, prompt, { sampling: forced(word) }),
        generate(second, prompt, { sampling: forced(other) }),
      ]);
      expect(answers.map(({ text: answer }) => answer)).toEqual([word.repeat(8), other.repeat(8)]);
      await second[Symbol.asyncDispose]();
    });

    it('leaves the choices of a grammar, and yields where it allows nothing else', async () => {
      const choice: CallGrammar = { kind: 'full', rule: any(text('left'), text('right')) };
      const pick = async (logit_bias: SamplingParams['logit_bias'], grammar = choice): Promise<string> =>
        (await generate(sequence, prompt, { grammar, sampling: { logit_bias } })).text;
      const starts = (word: string): SamplingParams['logit_bias'] =>
        Object.fromEntries([...word].map((_, index) => [word.slice(0, index + 1), false]));
      expect(await pick(starts('left'))).toBe('right');
      expect(await pick(starts('right'))).toBe('left');
      expect(['left', 'right']).toContain(await pick({ ...starts('left'), ...starts('right') }));
      expect(await pick(starts('left'), { kind: 'full', rule: text('left') })).toBe('left');
    });
  });

  describe('XTC', () => {
    it('keeps the least likely of the likely tokens', async () => {
      const threshold = likelyThreshold();
      const likely = [...unscaled].filter(([, p]) => p >= threshold).map(([label]) => label);
      const kept = likely.at(-1);
      const expected = weighted(unscaled, (label) => (likely.includes(label) && label !== kept ? 0 : 1));
      const counts = await sample({ temperature: 1, xtc: { probability: 1, threshold } });
      for (const label of likely.slice(0, -1)) expect(counts.has(label), label).toBe(false);
      expectDraws(counts, expected);
      // Greedy sampling takes the likeliest of those that are left.
      const greedy = await sampleFew({ temperature: 0, xtc: { probability: 1, threshold } });
      expect([...greedy.keys()]).toEqual([kept]);
    });

    it('is applied as often as its probability says', async () => {
      const threshold = likelyThreshold();
      const likely = [...unscaled].filter(([, p]) => p >= threshold).map(([label]) => label);
      const excluded = weighted(unscaled, (label) => (likely.slice(0, -1).includes(label) ? 0 : 1));
      const probability = 0.4;
      const expected = new Map(
        [...unscaled].map(([label, p]) => [label, (1 - probability) * p + probability * (excluded.get(label) ?? 0)]),
      );
      expectDraws(await sample({ temperature: 1, xtc: { probability, threshold } }), expected);
    });

    it('changes nothing with probability 0, or where no two tokens can be likely', async () => {
      const free = await sampleFew({ temperature: 1 });
      expect(await sampleFew({ temperature: 1, xtc: { probability: 0, threshold: 0.01 } })).toEqual(free);
      expect(await sampleFew({ temperature: 1, xtc: { probability: 1, threshold: 0.51 } })).toEqual(free);
    });

    /** A threshold that two tokens or more have, with room for rounding. */
    function likelyThreshold(): number {
      const [, second = 0, third = 0] = [...unscaled.values()];
      expect(second).toBeGreaterThan(third);
      return (second + third) / 2;
    }
  });

  describe('DRY', () => {
    /** A dialog whose end was there before: the second answer begins as the first one did. */
    const repeated = (answer: string): Prompt => nextPrompt(prompt, answer, 'Hm');
    const dry = { multiplier: 1.5, base: 1.1, allowed_length: 2, penalty_last_n: 1000, sequence_breakers: ['@@'] };

    it('penalizes the token that would repeat the prompt', async () => {
      const [word = ''] = likeliestTexts();
      const dialog = repeated(word);
      const free = await firstTokenDistribution(demo, dialog);
      const label = `more ${word}`;
      expect(free.get(label)).toBeGreaterThan(0.001);
      const counts = await sample({ temperature: 1, dry }, dialog);
      const length = repetitionLength(dialog, word);
      expect(length).toBeGreaterThan(dry.allowed_length);
      const penalty = dry.multiplier * dry.base ** (length - dry.allowed_length);
      expectDraws(
        counts,
        weighted(free, (one) => (one === label ? Math.exp(-penalty) : 1)),
      );
      expect(deviation(counts, label, free.get(label) ?? 0)).toBeGreaterThan(4);
    });

    it('changes nothing where a breaker, the window or the allowed length keeps it from the repetition', async () => {
      const [word = ''] = likeliestTexts();
      const dialog = repeated(word);
      const free = await sampleFew({ temperature: 1 }, dialog);
      const length = repetitionLength(dialog, word);
      for (const change of [
        { sequence_breakers: ['\n'] },
        { penalty_last_n: length },
        { allowed_length: length + 1 },
        { multiplier: 0 },
      ])
        expect(await sampleFew({ temperature: 1, dry: { ...dry, ...change } }, dialog), JSON.stringify(change)).toEqual(
          free,
        );
    });

    it('keeps generated text from repeating itself, whatever the pauses', async () => {
      const endless = {
        temperature: 0,
        max_tokens: 60,
        logit_bias: { ' the': 100, ' is': 100, ' a': 100, ' and': 100 },
      };
      const strong = { ...dry, multiplier: 20, base: 2, allowed_length: 1 };
      const runs = async (sampling: Partial<SamplingParams>, isPaused = false) => {
        let pauses = 0;
        const backpressure = (): Promise<void> | undefined =>
          isPaused && pauses++ % 3 === 0 ? Promise.resolve() : undefined;
        return (await generate(sequence, prompt, { sampling: { ...endless, ...sampling }, backpressure })).text;
      };
      const without = await runs({});
      const withDry = await runs({ dry: strong });
      expect(repeatedTriples(without)).toBeGreaterThan(40);
      expect(repeatedTriples(withDry)).toBeLessThan(10);
      expect(await runs({ dry: strong }, true)).toBe(withDry);
      expect(await runs({ dry: strong, speculate: 'prompt' })).toBe(withDry);
    });

    /** How many tokens before the word of the first answer are also those at the end of the dialog. */
    function repetitionLength(dialog: Prompt, word: string): number {
      const tokens = demo.renderer.tokens(demo.renderer.render(dialog));
      const [token] = demo.tokenizer.tokenizeContinuation(word);
      const lengths = tokens.flatMap((one, end) => {
        if (one !== token) return [];
        let length = 0;
        while (length < end && tokens[end - 1 - length] === tokens[tokens.length - 1 - length]) length++;
        return [length];
      });
      return Math.max(...lengths);
    }

    /** How many sequences of three tokens were there before. */
    function repeatedTriples(answer: string): number {
      const tokens = demo.tokenizer.tokenizeContinuation(answer);
      const triples = tokens.slice(2).map((_, index) => tokens.slice(index, index + 3).join(' '));
      return triples.length - new Set(triples).size;
    }
  });
});
