import type { Token } from 'node-llama-cpp';
import type { Tokenizer } from '../tokenizer/tokenizer.ts';

/**
 * The tokens that a model writes a whole reply with. After a control token a SentencePiece model begins it with a space,
 * which the text does not show.
 * @param preceding the tokens before the reply.
 */
export function replyTokens(text: string, preceding: readonly Token[], tokenizer: Tokenizer): readonly Token[] {
  const tokens = tokenizer.tokenizePlain(text);
  const isText = tokenizer.detokenize(tokens, preceding.slice(-maxPrecedingTokens), false) === text;
  return isText ? tokens : tokenizer.tokenizeContinuation(text);
}

const maxPrecedingTokens = 3;
