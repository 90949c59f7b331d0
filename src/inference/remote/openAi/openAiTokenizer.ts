import type { Token } from '../../decoding/token.ts';
import type { TokenizeOptions } from '../inferenceServer.ts';
import type { Vocabulary } from '../vocabulary.ts';

/** How the texts of an OpenAI-style server become tokens, and tokens prompts. */
export interface OpenAiTokenizer {
  readonly kind: 'server' | 'estimated';
  readonly vocabulary: Vocabulary;
  readonly controlStrings: readonly string[];
  tokenize(text: string, options: TokenizeOptions): Promise<readonly Token[]>;
  detokenize(tokens: readonly Token[], signal: AbortSignal): Promise<string>;
  /** What a request has as its prompt. */
  promptOf(tokens: readonly Token[]): string | readonly Token[];
}
