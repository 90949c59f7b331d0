import type { ReplyMarks } from '../../../chat/replyMarks.ts';
import type { GenerateOptions } from '../../contract/engine.ts';
import type { StreamingDetokenizer } from '../../decoding/streamingDetokenizer.ts';
import type { Tokenizer } from '../../decoding/tokenizer.ts';
import type { GrammarCache } from './grammarCache.ts';
import { GrammarSampler } from './grammarSampler.ts';
import { withAnswerMark } from '../../../chat/dialect/marks.ts';
import { ReasoningSampler } from './reasoningSampler.ts';
import { FreeSampler, type Sampler } from './sampler.ts';

/** What the samplers of a model share. */
export interface SamplerModel {
  readonly tokenizer: Tokenizer;
  readonly grammarCache: GrammarCache;
  readonly replyMarks: ReplyMarks;
}

/** The generation that a sampler is for. */
export interface SampledGeneration {
  readonly stream: StreamingDetokenizer;
  /** Text that the chat template has begun for the model (a mark that opens reasoning); the generated text continues it. */
  readonly prefix: string;
  /** Largest number of all generated tokens: what is left of the context. */
  readonly maxContextTokens: number;
  /** Whether the model was asked to reason. */
  readonly mayReason: boolean;
  /** The mark that opens the answer, which the prompt has not written; "" = none. */
  readonly answerMark: string;
}

/**
 * Creates the sampler of a generation.
 *
 * | grammar | reasoning that the prompt has opened                                             |
 * | ------- | -------------------------------------------------------------------------------- |
 * | none    | is sampled freely, up to its budget                                              |
 * | lazy    | the same; triggers in it do not count                                            |
 * | full    | precedes the constrained text; without a budget it may take `max_tokens`, and    |
 * |         | none where the model was not asked to reason                                     |
 *
 * The grammar of an answer starts with the mark that opens answers: after it the model has learned to answer.
 */
export function createSampler(
  { tokenizer, grammarCache, replyMarks }: SamplerModel,
  { grammar: ownGrammar, sampling, maxThinkingTokens = Infinity }: GenerateOptions,
  { mayReason, answerMark, ...generation }: SampledGeneration,
): Sampler {
  const grammar = ownGrammar && withAnswerMark(ownGrammar, answerMark);
  const { stream, prefix, maxContextTokens } = generation;
  const maxTokens = sampling.max_tokens;
  const withBudget = (sampler: Sampler, maxReasoningTokens: number, samplerAfterReasoning?: Sampler): Sampler =>
    new ReasoningSampler({
      ...generation,
      sampler,
      samplerAfterReasoning,
      tokenizer,
      replyMarks,
      maxReasoningTokens,
    });
  const isFull = grammar?.kind === 'full';
  const constrained =
    grammar && new GrammarSampler({ ...generation, grammar, tokenizer, grammarCache, replyMarks, maxTokens });
  if (constrained && isFull && prefix !== '') {
    const maxReasoningTokens = mayReason ? Math.min(maxThinkingTokens, maxTokens) : 0;
    return withBudget(new FreeSampler(stream, maxContextTokens), maxReasoningTokens, constrained);
  }
  const sampler = constrained ?? new FreeSampler(stream, Math.min(maxTokens, maxContextTokens));
  return maxThinkingTokens === Infinity || isFull ? sampler : withBudget(sampler, maxThinkingTokens);
}
