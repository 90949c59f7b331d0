import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Token } from 'node-llama-cpp';
import { StreamingDetokenizer } from '../../src/inference/decoding/streamingDetokenizer.ts';
import { openDemo, type Demo } from './demo.ts';

describe('a streaming detokenizer', () => {
  let demo: Demo;
  beforeAll(async () => void (demo = await openDemo()));
  afterAll(() => demo.close());

  function stream(
    tokens: readonly Token[],
    options: { readonly stop?: readonly string[]; readonly controlTokens?: boolean } = {},
  ) {
    const pieces: string[] = [];
    const text = new StreamingDetokenizer(
      demo.tokenizer,
      demo.tokenizer.tokenizeWithControl('<|im_start|>assistant\n'),
      {
        sampling: { stop: options.stop ?? [] },
        controlTokens: options.controlTokens ?? false,
        onText: (piece) => pieces.push(piece),
      },
    );
    for (const token of tokens) if (!text.stopped) text.push(token);
    text.end();
    return { pieces, text };
  }

  const nothingExact = { text: '', tokens: [], controlOffsets: [] };
  const tokenize = (text: string): Token[] => demo.tokenizer.tokenizePlain(text);

  it('emits whole characters, even if a character has several tokens', () => {
    const whole = 'Zürich, 東京 🎉👩‍👩‍👧 नमस्ते';
    expect(tokenize('🎉').length).toBeGreaterThan(2);
    const { pieces, text } = stream(tokenize(whole));
    expect(pieces.join('')).toBe(whole);
    expect(text.exactPrefix().text).toBe(whole);
    for (const piece of pieces) expect(piece).not.toMatch(/\p{Surrogate}|\uFFFD/u);
  });

  it('drops an incomplete character at the end, and its tokens', () => {
    const { text } = stream(tokenize('Hi 🎉').slice(0, -1));
    expect(text.text).toBe('Hi ');
    expect(text.exactPrefix()).toEqual({ text: 'Hi ', tokens: tokenize('Hi '), controlOffsets: [] });
  });

  it('emits U+FFFD for invalid bytes, and continues', () => {
    const broken = tokenize('🎉').slice(0, 1);
    const { text } = stream([...broken, ...tokenize(' and so on')]);
    expect(text.text).toBe('\uFFFD and so on');
  });

  it('emits control tokens only when controlTokens is set', () => {
    const tokens = demo.tokenizer.tokenizeWithControl('a<|im_start|>b');
    expect(stream(tokens).text.text).toBe('ab');
    expect(stream(tokens, { controlTokens: true }).text.text).toBe('a<|im_start|>b');
  });

  it('has no exact prefix when there are control tokens that it does not show', () => {
    const tokens = demo.tokenizer.tokenizeWithControl('a<|im_start|>b');
    expect(stream(tokens).text.exactPrefix()).toEqual(nothingExact);
  });

  it('knows where in the exact prefix the control tokens are that it shows', () => {
    const tokens = demo.tokenizer.tokenizeWithControl('a<|im_start|>b<|im_end|>');
    const { text } = stream(tokens, { controlTokens: true });
    expect(text.exactPrefix()).toEqual({ text: 'a<|im_start|>b<|im_end|>', tokens, controlOffsets: [1, 14] });
  });

  it('ends before a stop string of several tokens, and then has no exact prefix', () => {
    const { pieces, text } = stream(tokenize('one two three four'), { stop: ['two three'] });
    expect(pieces.join('')).toBe('one ');
    expect(text.stopped).toBe(true);
    expect(text.exactPrefix()).toEqual(nothingExact);
  });
});
