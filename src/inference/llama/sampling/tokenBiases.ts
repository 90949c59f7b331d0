import type { SamplingParams } from '../../contract/samplingParams.ts';
import { sumBiases } from '../../decoding/logitBias.ts';
import type { Token, Tokenizer } from '../../decoding/tokenizer.ts';
import { DryPenalty, findBreakers } from './dryPenalty.ts';

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
  const fixed = sumBiases(texts.map(([text, bias]) => ({ tokens: tokenizer.tokenizeContinuation(text), bias })));
  if (!isDry) return () => fixed;
  const dryPenalty = new DryPenalty(dry, findBreakers(dry.sequence_breakers, tokenizer));
  return (context) => {
    const biases = new Map(fixed);
    for (const [token, penalty] of dryPenalty.penalties(context)) biases.set(token, (biases.get(token) ?? 0) - penalty);
    return biases;
  };
}
