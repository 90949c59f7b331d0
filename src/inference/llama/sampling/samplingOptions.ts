import type { LlamaModel, SequenceEvaluateOptions, Token, TokenBias } from 'node-llama-cpp';
import type { SamplingParams } from '../../contract/samplingParams.ts';
import { sumBiases } from '../../decoding/logitBias.ts';
import type { Tokenizer } from '../../decoding/tokenizer.ts';
import { dryPenalties, findBreakers } from './dryPenalty.ts';

/**
 * Sampling parameters as options of node-llama-cpp. The seed is none of them: see `drawSeeds`.
 * @param context all tokens so far, prompt first; generated ones are appended.
 */
export function samplingOptions(
  sampling: SamplingParams,
  context: readonly Token[],
  model: LlamaModel,
  biases: TokenBiases | undefined,
): SequenceEvaluateOptions {
  return {
    temperature: sampling.temperature,
    topK: sampling.top_k,
    topP: sampling.top_p,
    minP: sampling.min_p,
    ...(hasPenalties(sampling) && {
      repeatPenalty: {
        penalty: sampling.repeat_penalty,
        presencePenalty: sampling.presence_penalty,
        frequencyPenalty: sampling.frequency_penalty,
        punishTokens: () => context.slice(-penaltyWindowTokens),
        maxPunishTokens: penaltyWindowTokens,
      },
    }),
    ...(sampling.xtc.probability > 0 && { xtc: sampling.xtc }),
    ...(biases && { tokenBias: () => toTokenBias(biases(context), model) }),
  };
}

/** Biases as the library has them. Not by its class: it tokenizes each text in two ways, and leaves out end of generation tokens. */
export const toTokenBias = (biases: ReadonlyMap<Token, number>, { tokenizer }: LlamaModel): TokenBias =>
  ({ _tokenizer: tokenizer, _biases: biases }) as unknown as TokenBias;

/** llama.cpp's default (`penalty_last_n`); tokens of the prompt count, too. */
const penaltyWindowTokens = 64;

const hasPenalties = ({ repeat_penalty, presence_penalty, frequency_penalty }: SamplingParams): boolean =>
  repeat_penalty !== 1 || presence_penalty !== 0 || frequency_penalty !== 0;

/** What is added to the logits of tokens after a context. */
export type TokenBiases = (context: readonly Token[]) => ReadonlyMap<Token, number>;

/**
 * The biases of a generation: `logit_bias` and `dry`. In llama.cpp penalties of repeated tokens come before those of
 * DRY; here it is the other way round, which makes a difference only where both are used.
 * @returns undefined: there are none.
 */
export function createTokenBiases(
  { logit_bias, dry }: Pick<SamplingParams, 'logit_bias' | 'dry'>,
  tokenizer: Pick<Tokenizer, 'detokenize' | 'tokenizeContinuation'>,
): TokenBiases | undefined {
  const texts = Object.entries(logit_bias);
  const isDry = dry.multiplier > 0 && dry.penalty_last_n > 0;
  if (texts.length === 0 && !isDry) return undefined;
  const fixed = sumBiases(texts.map(([text, bias]) => [tokenizer.tokenizeContinuation(text), bias]));
  if (!isDry) return () => fixed;
  const tailsOf = findBreakers(dry.sequence_breakers, tokenizer);
  return (context) => {
    const biases = new Map(fixed);
    for (const [token, penalty] of dryPenalties(context, dry, tailsOf))
      biases.set(token, (biases.get(token) ?? 0) - penalty);
    return biases;
  };
}
