/** Sampling that bends nothing: what a trial does not say of its own. */
export const unbent = {
  temperature: 1,
  top_p: 1,
  top_k: 0,
  min_p: 0,
  repeat_penalty: 1,
  presence_penalty: 0,
  frequency_penalty: 0,
  stop: [],
};
