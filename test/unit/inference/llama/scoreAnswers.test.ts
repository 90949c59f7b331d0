import type { LlamaContextSequence, Token } from 'node-llama-cpp';
import { describe, expect, it } from 'vitest';
import { scoreAnswers } from '../../../../src/inference/llama/sequence.ts';

const context = [100, 101, 102] as Token[];
const end = 9 as Token;

interface Evaluation {
  /** Where it starts. */
  readonly at: number;
  readonly tokens: readonly number[];
}

/**
 * A cache that can be cut back, or that starts again where it is cut. After a token t the token t + 1 has the probability 0.5,
 * each other one a tenth, and a probability of 0 is never measured.
 */
function fakeCache({ canBeCut }: { readonly canBeCut: boolean }) {
  const evaluations: Evaluation[] = [];
  let cached: Token[] = [];
  const cache = {
    get nextTokenIndex() {
      return cached.length;
    },
    model: {},
    async controlledEvaluate(
      input: readonly (Token | [Token, { generateNext: { options: { tokenBias: object } } }])[],
    ) {
      const tokens = input.map((item) => (Array.isArray(item) ? item[0] : item));
      evaluations.push({ at: cached.length, tokens });
      cached = [...cached, ...tokens];
      return input.map((item) => {
        if (!Array.isArray(item)) return undefined;
        const biases = Reflect.get(item[1].generateNext.options.tokenBias, '_biases') as ReadonlyMap<Token, number>;
        const chance = (token: number): number => (token === item[0] + 1 ? 0.5 : 0.1);
        const biased = [...biases].map(([token, bias]) => [token, chance(token) * Math.exp(bias)] as const);
        const best = (item[0] + 1) as Token;
        const probabilities = new Map([...(biases.has(best) ? [] : [[best, 0.5] as const]), ...biased]);
        return { next: { confidence: 0.5, probabilities } };
      });
    },
  } as unknown as LlamaContextSequence;
  const prefill = async (tokens: Token[]): Promise<LlamaContextSequence> => {
    const isPrefix = cached.every((token, index) => token === tokens[index]);
    const equal = cached.findIndex((token, index) => token !== tokens[index]);
    const kept = Math.min(isPrefix ? cached.length : equal, tokens.length - 1);
    cached = canBeCut || kept === cached.length ? cached.slice(0, kept) : [];
    return cache;
  };
  return { evaluations, prefill };
}

const step = <T>(work: () => Promise<T>): Promise<T> => work();

describe('the scores of answers', () => {
  const answers = [[1, 2], [1], [1, 2, 7], [5], [1, 2]] as Token[][];
  const expected = [
    [0.1, 0.5, 0.1],
    [0.1, 0.1],
    [0.1, 0.5, 0.1, 0.1],
    [0.1, 0.1],
    [0.1, 0.5, 0.1],
  ].map((probabilities) => probabilities.reduce((sum, probability) => sum + Math.log(probability), 0));

  it.each([
    [
      'cuts a cache back to what answers share, and evaluates a prefix of another answer with it',
      true,
      [
        { at: 0, tokens: [100, 101, 102, 5] },
        { at: 3, tokens: [1, 2, 7] },
      ],
    ],
    [
      'evaluates everything again where a cache cannot be cut back',
      false,
      [
        { at: 0, tokens: [100, 101, 102, 5] },
        { at: 0, tokens: [100, 101, 102, 1, 2, 7] },
      ],
    ],
  ])('%s', async (_, canBeCut, evaluated) => {
    const { evaluations, prefill } = fakeCache({ canBeCut });
    const scores = await scoreAnswers({ context, answers, endTokens: [end], isRecurrent: false, prefill, step });
    for (const [index, score] of (scores ?? []).entries()) expect(score).toBeCloseTo(expected[index] ?? NaN, 5);
    expect(scores).toHaveLength(answers.length);
    expect(evaluations).toEqual(evaluated);
  });

  it('add up the end of generation tokens, and leave out what has none', async () => {
    const { prefill } = fakeCache({ canBeCut: true });
    const scoresWith = (endTokens: readonly Token[]) =>
      scoreAnswers({ context, answers: [[5 as Token]], endTokens, isRecurrent: false, prefill, step });
    expect((await scoresWith([6, 9] as Token[]))?.[0]).toBeCloseTo(Math.log(0.1 * 0.6), 5);
    expect((await scoresWith([]))?.[0]).toBeCloseTo(Math.log(0.1), 5);
  });

  it('end between two answers', async () => {
    const { evaluations, prefill } = fakeCache({ canBeCut: true });
    let answersLeft = 1;
    const scores = await scoreAnswers({
      context,
      answers,
      endTokens: [end],
      isRecurrent: false,
      prefill: async (tokens) => (answersLeft-- > 0 ? prefill(tokens) : undefined),
      step,
    });
    expect(scores).toBeUndefined();
    expect(evaluations).toHaveLength(1);
  });

  it('of 300 answers of 300 tokens each need no more than one evaluation for each', async () => {
    const { evaluations, prefill } = fakeCache({ canBeCut: true });
    const many = Array.from({ length: 300 }, (_, index) =>
      Array.from({ length: 300 }, (_unused, at) => (at < index ? 1 : 2) as Token),
    );
    expect(
      await scoreAnswers({ context, answers: many, endTokens: [end], isRecurrent: false, prefill, step }),
    ).toHaveLength(300);
    expect(evaluations).toHaveLength(300);
    const [first, ...others] = evaluations;
    expect(first?.at).toBe(0);
    for (const { at, tokens } of others) expect(at + tokens.length).toBe(context.length + 300);
  });
});
