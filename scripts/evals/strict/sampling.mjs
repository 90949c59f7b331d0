/** Neutral sampling parameters: the model's own distribution, without any truncation or penalty. */
export const neutralSampling = {
  temperature: 1,
  top_p: 1,
  top_k: 0,
  min_p: 0,
  repeat_penalty: 1,
  presence_penalty: 0,
  frequency_penalty: 0,
  stop: [],
  dry: { multiplier: 0, base: 1.75, allowed_length: 2, penalty_last_n: 64, sequence_breakers: ['\n'] },
  xtc: { probability: 0, threshold: 0.1 },
  logit_bias: {},
};
