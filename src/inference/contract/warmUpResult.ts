/**
 * Whether the state of a prefilled prompt is in the prompt cache on disk.
 *
 * | value        | the state                                                                |
 * | ------------ | ------------------------------------------------------------------------ |
 * | `saved`      | was written                                                              |
 * | `present`    | was there before                                                         |
 * | `few_tokens` | is not kept: so few tokens are evaluated faster than a file is read      |
 * | `too_large`  | was not computed: the prompt does not fit in the context                 |
 * | `not_asked`  | is not kept: there was no `keep`, or the prompt has more than its head   |
 * | `no_cache`   | is not kept: there is no prompt cache                                    |
 * | `failed`     | could not be written: the disk is full, or `--cache-limit` has no room   |
 * | `stopped`    | is not complete: the prefill was aborted                                 |
 */
export type KeptState =
  'saved' | 'present' | 'few_tokens' | 'too_large' | 'not_asked' | 'no_cache' | 'failed' | 'stopped';

/** What a prefill has done. */
export interface WarmUpResult {
  /** Tokens of the part of the prompt that does not depend on the message. */
  readonly tokens: number;
  readonly kept: KeptState;
}
