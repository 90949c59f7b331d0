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
};
