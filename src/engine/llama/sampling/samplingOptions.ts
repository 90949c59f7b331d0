import type { SequenceEvaluateOptions, Token } from 'node-llama-cpp';
import type { SamplingParams } from '../../engine.ts';

/**
 * Sampling parameters as options of node-llama-cpp. The seed is none of them: see `DrawSeeds`.
 * @param lastTokens the last tokens of the context, at most `count`, for the penalties.
 */
export function samplingOptions(
  sampling: SamplingParams,
  lastTokens: (count: number) => Token[],
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
        punishTokens: () => lastTokens(penaltyWindowTokens),
        maxPunishTokens: penaltyWindowTokens,
      },
    }),
  };
}

/** llama.cpp's default (`penalty_last_n`); tokens of the prompt count, too. */
const penaltyWindowTokens = 64;

const hasPenalties = ({ repeat_penalty, presence_penalty, frequency_penalty }: SamplingParams): boolean =>
  repeat_penalty !== 1 || presence_penalty !== 0 || frequency_penalty !== 0;
