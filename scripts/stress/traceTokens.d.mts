import type { LlamaContextSequence, Token } from 'node-llama-cpp';

/** What was overheard. */
export interface Overheard {
  readonly kind: 'evaluated' | 'restored' | 'saved';
  /** Of what was evaluated: how many of the tokens were the prompt. */
  readonly prompt?: number;
  readonly tokens: readonly Token[];
}

export function eavesdrop(prototype: LlamaContextSequence, tell: (overheard: Overheard) => void): () => void;
