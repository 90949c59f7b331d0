import { randomInt } from 'node:crypto';
import type { SequenceEvaluateOptions, Token } from 'node-llama-cpp';
import type { SamplingParams } from '../../engine.ts';

/** How node-llama-cpp is told to draw tokens; `latest` gives the last tokens before the one to draw, for the penalties. */
export function samplingOptions(sampling: SamplingParams, latest: (count: number) => Token[]): SequenceEvaluateOptions {
  return {
    temperature: sampling.temperature,
    topK: sampling.top_k,
    topP: sampling.top_p,
    minP: sampling.min_p,
    // The library would take the second of the clock, the same for all that speak at once; all ones mean random to llama.cpp.
    seed: sampling.seed === 0 ? randomInt(1, 0xffffffff) : sampling.seed,
    ...(hasPenalties(sampling) && {
      repeatPenalty: {
        penalty: sampling.repeat_penalty,
        presencePenalty: sampling.presence_penalty,
        frequencyPenalty: sampling.frequency_penalty,
        punishTokens: () => latest(penaltyWindow),
        maxPunishTokens: penaltyWindow,
      },
    }),
  };
}

// llama.cpp's default, prompt included.
const penaltyWindow = 64;

const hasPenalties = ({ repeat_penalty, presence_penalty, frequency_penalty }: SamplingParams): boolean =>
  repeat_penalty !== 1 || presence_penalty !== 0 || frequency_penalty !== 0;
