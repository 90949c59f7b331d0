/** Sampling parameters of a generation. Names and meanings are llama.cpp's. */
export interface SamplingParams {
  /** 0 = greedy: always the most probable token. */
  readonly temperature: number;
  readonly top_p: number;
  /** 0 = no limit. */
  readonly top_k: number;
  readonly min_p: number;
  /** 1 = none. */
  readonly repeat_penalty: number;
  readonly presence_penalty: number;
  readonly frequency_penalty: number;
  /** Maximum number of tokens to generate. */
  readonly max_tokens: number;
  /** 0 = random. The same seed gives the same text. */
  readonly seed: number;
  /** 0 = no limit. */
  readonly max_tokens_per_second: number;
  /** Speculative decoding: `prompt` = drafts of what the prompt and the text so far repeat. The text does not depend on it. */
  readonly speculate: 'off' | 'prompt';
  /** Stop strings: the text ends before the first of them. */
  readonly stop: readonly string[];
  readonly dry: DryParams;
  readonly xtc: XtcParams;
  /** Texts, and what is added to the logit of each of their tokens; false = they are forbidden. */
  readonly logit_bias: Readonly<Record<string, number | false>>;
}

/** DRY (Don't Repeat Yourself): a penalty for tokens that would continue a repetition, the larger the longer it is. */
export interface DryParams {
  /** 0 = off. */
  readonly multiplier: number;
  /** At least 1. */
  readonly base: number;
  /** Tokens of a repetition that is not penalized. */
  readonly allowed_length: number;
  /** Tokens at the end of the context in which repetitions are looked for, those of the prompt included; 0 = off. */
  readonly penalty_last_n: number;
  /** Texts that a repetition ends at; they are not penalized themselves. */
  readonly sequence_breakers: readonly string[];
}

/** XTC (Exclude Top Choices): of several likely tokens only the least likely one is kept. */
export interface XtcParams {
  /** How often it is applied, 0 to 1; 0 = off. */
  readonly probability: number;
  /** Probability from which on a token is a likely one; above 0.5 there cannot be two of them. */
  readonly threshold: number;
}
