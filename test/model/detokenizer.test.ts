import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Token } from 'node-llama-cpp';
import { StreamingDetokenizer } from '../../src/engine/llama/tokenizer/streamingDetokenizer.ts';
import { openDemo, type Demo } from './demo.ts';

describe('the text of a generation', () => {
  let demo: Demo;
  beforeAll(async () => void (demo = await openDemo()));
  afterAll(() => demo.close());

  function stream(
    tokens: readonly Token[],
    options: { readonly stop?: readonly string[]; readonly controlTokens?: boolean } = {},
  ) {
    const pieces: string[] = [];
    const text = new StreamingDetokenizer(demo.tokenizer, {
      precedingTokens: demo.tokenizer.tokenizeWithControl('<|im_start|>assistant\n'),
      stopStrings: options.stop ?? [],
      controlTokens: options.controlTokens ?? false,
      onText: (piece) => pieces.push(piece),
    });
    for (const token of tokens) if (!text.stopped) text.push(token);
    text.end();
    return { pieces, text };
  }

  const bytesOf = (text: string): Token[] => demo.tokenizer.tokenizePlain(text);

  it('comes in whole characters, though a character may be several tokens', () => {
    const whole = 'Zürich, 東京 🎉👩‍👩‍👧 नमस्ते';
    expect(bytesOf('🎉').length).toBeGreaterThan(2);
    const { pieces, text } = stream(bytesOf(whole));
    expect(pieces.join('')).toBe(whole);
    expect(text.exactPrefix().text).toBe(whole);
    for (const piece of pieces) expect(piece).not.toMatch(/\p{Surrogate}|\uFFFD/u);
  });

  it('leaves out a character that was cut off, and its tokens', () => {
    const { text } = stream(bytesOf('Hi 🎉').slice(0, -1));
    expect(text.text).toBe('Hi ');
    expect(text.exactPrefix()).toEqual({ text: 'Hi ', tokens: bytesOf('Hi ') });
  });

  it('shows bytes that are no character, and goes on', () => {
    const broken = bytesOf('🎉').slice(0, 1);
    const { text } = stream([...broken, ...bytesOf(' and so on')]);
    expect(text.text).toBe('\uFFFD and so on');
  });

  it('holds control tokens only when asked to', () => {
    const tokens = demo.tokenizer.tokenizeWithControl('a<|im_start|>b');
    expect(stream(tokens).text.text).toBe('ab');
    expect(stream(tokens, { controlTokens: true }).text.text).toBe('a<|im_start|>b');
  });

  it('is not taken for its tokens where control tokens are among them', () => {
    const tokens = demo.tokenizer.tokenizeWithControl('a<|im_start|>b');
    expect(stream(tokens).text.exactPrefix()).toEqual({ text: '', tokens: [] });
    expect(stream(tokens, { controlTokens: true }).text.exactPrefix()).toEqual({ text: '', tokens: [] });
  });

  it('ends before a stop string of several tokens, and is then not taken for its tokens', () => {
    const { pieces, text } = stream(bytesOf('one two three four'), { stop: ['two three'] });
    expect(pieces.join('')).toBe('one ');
    expect(text.stopped).toBe(true);
    expect(text.exactPrefix()).toEqual({ text: '', tokens: [] });
  });
});
