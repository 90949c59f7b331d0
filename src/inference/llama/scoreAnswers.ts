import type { ControlledEvaluateInputItem, LlamaContextSequence, Token, TokenBias } from 'node-llama-cpp';
import { takeCheckpoint } from './kvCache/checkpoints.ts';
import {
  type AnswerNode,
  createAnswerTree,
  inTreeOrder,
  nodesOf,
  scoresOf,
  wantedTokens,
} from '../decoding/answers.ts';
import { toTokenBias } from './sampling/samplingOptions.ts';

interface ScoringOptions {
  /** The tokens before the answers; at least one. */
  readonly context: readonly Token[];
  readonly answers: readonly (readonly Token[])[];
  /** The end of generation tokens. */
  readonly endTokens: readonly Token[];
  /**
   * Makes a cache hold all of these tokens but the last ones, which can be evaluated together; undefined when the scoring is
   * to end.
   */
  readonly prefill: (tokens: Token[]) => Promise<LlamaContextSequence | undefined>;
  /** Whether a cache cannot be cut back between two answers without a checkpoint. */
  readonly isRecurrent: boolean;
  /** Wraps each use of the engine; rejects as the engine does, or with a Fault in place of it. */
  readonly step: <T>(step: () => Promise<T>) => Promise<T>;
}

/**
 * The logarithms of the probabilities of answers after a context, each with its end of generation. The context is evaluated
 * once, together with the first answer; then each answer from where it differs from the one before. Where a cache needs a
 * checkpoint for that, the context is evaluated by itself, and each answer from its start.
 * @returns undefined when `prefill` has ended it.
 */
export async function scoreAnswers(options: ScoringOptions): Promise<readonly number[] | undefined> {
  const { context, answers, endTokens, isRecurrent, prefill, step } = options;
  const root = createAnswerTree(answers);
  const needsCheckpoint = isRecurrent && answers.length > 1;
  const evaluations = needsCheckpoint ? [[], ...inTreeOrder(answers)] : inTreeOrder(answers);
  for (const tokens of evaluations) {
    const path = [...context, ...tokens];
    const nodes = nodesOf(tokens, root);
    const shared = nodes.findIndex(({ logprobs }) => !logprobs);
    if (shared < 0) continue;
    const cache = await prefill(path.slice(0, context.length + shared));
    if (!cache) return undefined;
    const start = cache.nextTokenIndex;
    const evaluated = path.slice(start);
    const nodeAt = (index: number): AnswerNode | undefined => nodes[start + index - (context.length - 1)];
    const wanted = evaluated.map((_, index) => {
      const node = nodeAt(index);
      return node && !node.logprobs ? wantedTokens(node, endTokens) : undefined;
    });
    const probabilities = await step(() => tokenProbabilities(cache, evaluated, wanted));
    for (const [index, known] of probabilities.entries()) {
      const node = nodeAt(index);
      if (node && wanted[index])
        node.logprobs = new Map([...known].map(([token, chance]) => [token, Math.log(chance)]));
    }
    if (needsCheckpoint && tokens.length === 0) await step(() => takeCheckpoint(cache, 'answers'));
  }
  return scoresOf(answers, root, endTokens);
}

/** What the library knows of a token after its evaluation. */
interface NextToken {
  /** The probability of the most probable next token. */
  readonly confidence?: number;
  /** Of the wanted tokens and one more, relative to each other; those of wanted tokens are too large by `bias`. */
  readonly probabilities?: ReadonlyMap<Token, number>;
}

/**
 * Evaluates tokens after those that a cache holds.
 * @param wanted for each token: the tokens whose probabilities as the next one are wanted; undefined: none.
 * @returns for each token: the probabilities of its wanted tokens, at temperature 1 and without a sampler.
 */
export async function tokenProbabilities(
  cache: LlamaContextSequence,
  tokens: readonly Token[],
  wanted: readonly (readonly Token[] | undefined)[],
): Promise<readonly ReadonlyMap<Token, number>[]> {
  const input = tokens.map((token, index): ControlledEvaluateInputItem => {
    const wantedTokens = wanted[index];
    if (!wantedTokens) return token;
    const tokenBias = biasTowards(wantedTokens, cache);
    const options = { temperature: 1, topK: wantedTokens.length + 1, topP: 1, minP: 0, seed: 1, tokenBias };
    return [token, { generateNext: { probabilities: true, confidence: true, options } }];
  });
  const results = await cache.controlledEvaluate(input);
  return tokens.map((_, index) => {
    const wantedTokens = wanted[index];
    return wantedTokens ? absoluteProbabilities(wantedTokens, results[index]?.next ?? {}) : new Map();
  });
}

/**
 * What is added to the logits of the wanted tokens, so that top_k keeps them. A token whose logit is lower than the highest
 * one by more than this has no probability then. Much more than this would exceed the range of 32-bit floats.
 */
const bias = 80;

const biasTowards = (tokens: readonly Token[], { model }: LlamaContextSequence): TokenBias =>
  toTokenBias(new Map(tokens.map((token) => [token, bias])), model);

function absoluteProbabilities(
  wanted: readonly Token[],
  { confidence, probabilities = new Map() }: NextToken,
): ReadonlyMap<Token, number> {
  const isWanted = new Set(wanted);
  const relative = new Map<Token, number>();
  for (const [token, probability] of probabilities)
    relative.set(token, isWanted.has(token) ? probability / Math.exp(bias) : probability);
  // The most probable token is a wanted one, or the one more that top_k keeps.
  const highest = Math.max(0, ...relative.values());
  if (confidence === undefined || highest === 0) throw new Error('the logits cannot be read');
  return new Map(wanted.map((token) => [token, (confidence * (relative.get(token) ?? 0)) / highest]));
}
