import { renameSampling } from '../../contract/samplingParams.ts';
import type { Token } from '../../decoding/tokenizer.ts';
import type { RemoteRequest } from '../inferenceServer.ts';

export const completionPath = '/v1/completions';

/** A field of a request that has a grammar in GBNF. */
export type GrammarField = 'structured_outputs' | 'guided_grammar' | 'ebnf';

/** In the order in which they are tried: vLLM from 0.11 on, vLLM before 0.12, SGLang. */
export const grammarFields: readonly GrammarField[] = ['structured_outputs', 'guided_grammar', 'ebnf'];

/** The largest bias that the API has. The server takes a token that has it. */
const maxBias = 100;
/** The most that a server reports without an option of its own. */
const maxLogprobs = 20;

export const grammarBody = (field: GrammarField, gbnf: string): object =>
  field === 'structured_outputs' ? { [field]: { grammar: gbnf } } : { [field]: gbnf };

/** The field that has a token generated. */
export const forcedBody = (token: Token): object => biasBody(new Map([[token, maxBias]]));

const biasBody = (biases: ReadonlyMap<Token, number>): object => ({
  logit_bias: Object.fromEntries(
    [...biases].map(([token, value]) => [token, Math.min(maxBias, Math.max(-maxBias, value))]),
  ),
});

/** The fields that ask for probabilities, with the ids of their tokens. */
export const logprobsBody = (likeliest: number): object => ({
  logprobs: Math.min(likeliest, maxLogprobs),
  return_tokens_as_token_ids: true,
});

/** The body of a request. All sampling parameters are given, for the server can have other defaults. */
export const completionBody = (
  { maxTokens, sampling, biases = new Map(), seed, gbnf, probabilities }: RemoteRequest,
  prompt: string | readonly Token[],
  grammarField: GrammarField | undefined,
): object => ({
  prompt,
  // A prompt alone cannot be asked for.
  max_tokens: Math.max(1, maxTokens),
  ...renameSampling(sampling, 'openAi'),
  // No limit is -1 for all of them, and 0 for some.
  ...(sampling.top_k === 0 && { top_k: -1 }),
  ...(biases.size > 0 && biasBody(biases)),
  ...(seed !== 0 && { seed }),
  ...(gbnf !== undefined && grammarField && grammarBody(grammarField, gbnf)),
  ...(probabilities && logprobsBody(probabilities.likeliest)),
  ...(probabilities?.of !== undefined && forcedBody(probabilities.of)),
  skip_special_tokens: false,
  spaces_between_special_tokens: false,
  return_token_ids: true,
  stream: true,
  stream_options: { include_usage: true },
});
