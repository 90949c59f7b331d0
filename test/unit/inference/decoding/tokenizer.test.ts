import type { LlamaModel, Token } from 'node-llama-cpp';
import { describe, expect, it } from 'vitest';
import { Tokenizer } from '../../../../src/inference/decoding/tokenizer.ts';

// A vocabulary of characters and one control token, whose tokenizer puts a space before each text, as SentencePiece does.
const spellings = ['</s>', ...Array.from({ length: 127 }, (_, code) => String.fromCharCode(code + 1))];
const tokenOf = (spelling: string): Token => spellings.indexOf(spelling) as Token;
const vocabulary = {
  tokens: { shouldPrependBosToken: false },
  fileInfo: { metadata: { tokenizer: { ggml: { tokens: spellings } } } },
  iterateAllTokens: () => spellings.map(tokenOf),
  getTokenAttributes: (token: Token) => ({ control: token === 0, unknown: false, userDefined: false }),
  tokenize: (text: string): Token[] => [...` ${text}`].map(tokenOf),
  detokenize: (tokens: readonly Token[], special: boolean): string =>
    tokens.map((token) => (token === 0 && !special ? '' : spellings[token])).join(''),
};

describe('a long text in pieces', () => {
  it('has the tokens of the whole text where it spells control tokens', () => {
    const tokenizer = new Tokenizer(vocabulary as unknown as LlamaModel);
    const text = 'name</s>'.repeat(2000);
    const pieces = [...tokenizer.tokenizeInPieces(text, false)];
    expect(pieces.length).toBeGreaterThan(2);
    expect(pieces.flat()).toEqual(tokenizer.tokenizePlain(text));
  });
});

describe('the text of control tokens', () => {
  const tokenizer = new Tokenizer(vocabulary as unknown as LlamaModel);
  const tokens = [tokenOf('a'), tokenOf('</s>')];

  it.each([
    ['none is shown', false, 'a'],
    ['all are shown', true, 'a</s>'],
    ['they are among those that are shown', tokenizer.controlTokensOf(['<s>', '</s>']), 'a</s>'],
    ['only others are shown', tokenizer.controlTokensOf(['<s>', 'a']), 'a'],
  ])('is there or not where %s', (_, shown, text) => expect(tokenizer.detokenize(tokens, [], shown)).toBe(text));
});
