import type { LlamaContextSequence, Token } from 'node-llama-cpp';
import type { KeptState } from '../../contract/engine.ts';

/** A cache of the states of heads of prompts, from which all sequences start. */
export interface HeadCache {
  /** How many heads were loaded. */
  readonly restored: number;
  /**
   * Loads the longest head that a prompt begins with, if that is worth it.
   * @throws when it cannot be read; the contents of `cache` are unknown then.
   */
  restore(cache: LlamaContextSequence, prompt: Token[]): Promise<void>;
  /** Saves the state of all tokens of a cache, if that is worth it. @returns whether it is saved. */
  save(cache: LlamaContextSequence): Promise<KeptState>;
}
