import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setImmediate as breath } from 'node:timers/promises';
import { isDeepStrictEqual } from 'node:util';
import { getLlama, LlamaLogLevel, type Llama, type LlamaContextSequence, type Token } from 'node-llama-cpp';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { shapes } from '../../scripts/random-model/shapes.mjs';
import { writeRandomModel } from '../../scripts/random-model/write.mjs';
import type { Prompt } from '../../src/dialog.ts';
import { reusePrefix } from '../../src/engine/llama/kvCache/prefixReuse.ts';
import { userPrompt, nextPrompt, neverAborted, generate } from '../contracts/generation.ts';
import { contextSize, openDemo, type Demo } from './demo.ts';

describe('a KV cache', () => {
  let demo: Demo;
  let cache: LlamaContextSequence;
  beforeAll(async () => {
    demo = await openDemo();
    cache = (await demo.weights.createContext({ contextSize, threads: 1 })).getSequence();
  });
  afterAll(() => demo.close());

  const tokens = (text: string): Token[] => demo.weights.tokenize(text, true);

  it('keeps nothing behind a changed middle, though later tokens are the same', async () => {
    const [before, after] = [tokens('one two three four five six'), tokens('one two nine four five six')];
    await reusePrefix(cache, []);
    await cache.evaluateWithoutGeneratingNewTokens(before);
    const kept = await reusePrefix(cache, after);
    expect(kept).toBe(after.findIndex((token, index) => token !== before[index]));
    expect(cache.contextTokens).toEqual(before.slice(0, kept));
  });

  it('keeps no tail when the prompt is a strict prefix of what it holds', async () => {
    await reusePrefix(cache, []);
    await cache.evaluateWithoutGeneratingNewTokens(tokens('one two three four five six'));
    expect(await reusePrefix(cache, tokens('one two three'))).toBe(tokens('one two three').length);
    expect(cache.contextTokens).toEqual(tokens('one two three'));
  });
});

describe('a KV cache with a sliding window', () => {
  const window = 128;
  let folder: string;
  let llama: Llama;
  let cache: LlamaContextSequence;
  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'turngraph-window-'));
    const file = join(folder, 'window.gguf');
    await writeRandomModel(file, { ...shapes.tiny, weights: 'F32', window });
    llama = await getLlama({ build: 'never', gpu: false, maxThreads: 0, logLevel: LlamaLogLevel.disabled });
    const weights = await llama.loadModel({ modelPath: file });
    cache = (await weights.createContext({ contextSize, batchSize: 256, threads: 1 })).getSequence();
  });
  afterAll(async () => {
    await llama.dispose();
    await rm(folder, { recursive: true });
  });

  const read = Array.from({ length: 1000 }, (_, index) => (300 + ((index * 37) % 1500)) as Token);
  const sharing = (count: number): Token[] => [...read.slice(0, count), 2000 as Token];

  /** How many tokens are kept, and how many are evaluated for that in a step that nobody can halt. */
  async function aligned(tokens: Token[]): Promise<{ kept: number; evaluated: number }> {
    await reusePrefix(cache, []);
    await cache.evaluateWithoutGeneratingNewTokens(read);
    const before = cache.tokenMeter.usedInputTokens;
    const kept = await reusePrefix(cache, tokens);
    return { kept, evaluated: cache.tokenMeter.usedInputTokens - before };
  }

  it('keeps what is the same as long as the window before it is there', async () => {
    expect(await aligned(sharing(990))).toEqual({ kept: 990, evaluated: 0 });
    const start = cache.stateCellsStartIndex;
    expect(start).toBeGreaterThan(window);
    expect(await aligned(sharing(start + window))).toEqual({ kept: start + window, evaluated: 0 });
  });

  it('keeps nothing where a part of the window is gone, and evaluates nothing for it', async () => {
    const start = cache.stateCellsStartIndex;
    expect(await aligned(sharing(start + window - 2))).toEqual({ kept: 0, evaluated: 0 });
    expect(await aligned(sharing(start - 1))).toEqual({ kept: 0, evaluated: 0 });
    expect(cache.contextTokens).toEqual([]);
  });

  it('holds what is the same from the start on', async () => {
    expect(await aligned([...read, 2000 as Token])).toEqual({ kept: 1000, evaluated: 0 });
  });
});

describe('a sequence', () => {
  let demo: Demo;
  beforeAll(async () => void (demo = await openDemo()));
  afterAll(() => demo.close());

  const tokensOf = (prompt: Prompt): Token[] => demo.renderer.tokens(demo.renderer.render(prompt));

  /** What is in the one slot of a context. */
  async function opened(): Promise<{
    sequence: ReturnType<Awaited<ReturnType<Demo['open']>>['sequence']>;
    held: () => Promise<Token[]>;
  }> {
    const { slots, sequence } = await demo.open(1);
    const speaker = sequence();
    const held = async (): Promise<Token[]> => {
      const slot = await slots.acquire(speaker, [], neverAborted);
      if (!slot) throw new Error('no slot');
      const { contextTokens } = slot.cache;
      slots.release(slot);
      return contextTokens;
    };
    return { sequence: speaker, held };
  }

  /** What the model writes behind tokens that were never seen before. */
  async function freshly(tokens: Token[], count: number): Promise<Token[]> {
    const context = await demo.weights.createContext({ contextSize, batchSize: 256, threads: 1, flashAttention: true });
    const written: Token[] = [];
    for await (const token of context.getSequence().evaluate(tokens, { temperature: 0 })) {
      written.push(token);
      if (written.length === count) break;
    }
    await context.dispose();
    return written;
  }

  it('evaluates a changed middle anew', async () => {
    const { sequence } = await opened();
    const prompt = nextPrompt(userPrompt('How are you today?'), 'I am fine.', 'Tell me a joke');
    const changed = nextPrompt(userPrompt('How is she today?'), 'I am fine.', 'Tell me a joke');
    await generate(sequence, prompt);
    const { tokens, text } = await generate(sequence, changed);
    const [a, b] = [tokensOf(prompt), tokensOf(changed)];
    expect(tokens.reused).toBe(b.findIndex((token, index) => token !== a[index]));
    const fresh = await freshly(b, 30);
    expect(text).not.toBe('');
    expect(demo.weights.detokenize(fresh).startsWith(text)).toBe(true);
  });

  it('leaves no tail of a longer prompt', async () => {
    const { sequence, held } = await opened();
    const short = userPrompt('How are you today?');
    await generate(sequence, nextPrompt(short, 'I am fine.', 'Tell me a joke'));
    const { tokens } = await generate(sequence, short, { sampling: { max_tokens: 1 } });
    expect(tokens.reused).toBe(tokens.prompt - 1);
    expect(await held()).toEqual(tokensOf(short));
  });

  it('evaluates the new message and nothing else over five turns, and answers as if it had never read before', async () => {
    const { sequence, held } = await opened();
    let prompt = userPrompt('How are you today?');
    let { text } = await generate(sequence, prompt);
    for (const message of ['Tell me a joke', 'Who are you?', 'Thank you', 'What is your name?']) {
      prompt = nextPrompt(prompt, text, message);
      // The end of the answer, the new message in its frame, and the opening of the next answer.
      const news = demo.weights.tokenize(
        `<|im_end|>\n<|im_start|>user\n${message}<|im_end|>\n<|im_start|>assistant\n`,
        true,
      );
      const next = await generate(sequence, prompt);
      expect(next.tokens.prompt - next.tokens.reused).toBe(news.length);
      const all = await held();
      const written = await freshly(all.slice(0, next.tokens.prompt), next.tokens.generated);
      expect(all.slice(next.tokens.prompt)).toEqual(written);
      text = next.text;
    }
  });

  it('reuses its own spelling of an answer where the tokeniser would have spelt it otherwise', async () => {
    const prompt = userPrompt('Tell me a joke');
    for (let seed = 1; seed <= 20; seed++) {
      const { sequence, held } = await opened();
      const { text, tokens } = await generate(sequence, prompt, { sampling: { temperature: 3, seed, max_tokens: 30 } });
      const spelt = (await held()).slice(tokens.prompt);
      if (isDeepStrictEqual(spelt, demo.weights.tokenize(text, false).slice(0, spelt.length))) continue;
      const next = await generate(sequence, nextPrompt(prompt, text, 'Thank you'));
      return expect(next.tokens.reused).toBe(tokens.prompt + spelt.length);
    }
    expect.fail('the model spells as the tokeniser does, whatever the seed');
  });

  it('reads an answer anew that is not the one it wrote, from its beginning', async () => {
    const { sequence } = await opened();
    const prompt = userPrompt('How are you today?');
    const { tokens } = await generate(sequence, prompt);
    const next = await generate(sequence, nextPrompt(prompt, 'Never better!', 'Thank you'));
    expect(next.tokens.reused).toBe(tokens.prompt);
  });

  it('holds a prefix of prompt and answer after an abort at any moment', async () => {
    const { sequence, held } = await opened();
    const prompt = userPrompt(`${'The lamp stands in the hall. '.repeat(60)} Tell me a long story about the sea.`);
    const all = [...tokensOf(prompt), ...(await freshly(tokensOf(prompt), 60))];
    const lengths: number[] = [];
    for (const moment of [-1, 0, 1, 2, 5, 10, 20, 40]) {
      const control = new AbortController();
      let pieces = 0;
      const cutting = generate(sequence, prompt, {
        signal: control.signal,
        sampling: { max_tokens: 60 },
        onText: () => void (++pieces === moment && control.abort()),
      });
      if (moment === 0) await breath();
      if (moment <= 0) control.abort();
      await cutting;
      const now = await held();
      expect(now).toEqual(all.slice(0, now.length));
      lengths.push(now.length);
      await generate(sequence, userPrompt(`Something else ${moment}.`), { sampling: { max_tokens: 2 } });
    }
    const read = tokensOf(prompt).length;
    expect(lengths.slice(0, 2).every((length) => length < read)).toBe(true);
    expect(lengths.slice(2).every((length) => length >= read)).toBe(true);
  });

  it('goes on in a long conversation until the context is full, and says so', async () => {
    const { sequence } = await opened();
    let prompt = userPrompt('How are you today?');
    let turns = 0;
    const talk = async (): Promise<void> => {
      for (;;) {
        const { text, tokens } = await generate(sequence, prompt, { sampling: { max_tokens: 20 } });
        expect(tokens.prompt - tokens.reused).toBeLessThan(60);
        prompt = nextPrompt(prompt, text, `Tell me more about number ${++turns}, please.`);
      }
    };
    await expect(talk()).rejects.toMatchObject({ name: 'PROMPT_TOO_LARGE' });
    expect(turns).toBeGreaterThan(10);
  });

  it('hands its slot to another without a trace of what it held', async () => {
    const { sequence: open } = await demo.open(1);
    const [mine, yours] = [open(), open()];
    await generate(mine, userPrompt('My secret word is walrus.', 'You keep secrets.'));
    const { text, tokens } = await generate(yours, userPrompt('Which secret word?', 'You tell all.'));
    const [a, b] = [
      tokensOf(userPrompt('My secret word is walrus.', 'You keep secrets.')),
      tokensOf(userPrompt('Which secret word?', 'You tell all.')),
    ];
    expect(tokens.reused).toBe(b.findIndex((token, index) => token !== a[index]));
    expect(demo.weights.detokenize(await freshly(b, 40)).startsWith(text)).toBe(true);
    expect((await generate(mine, userPrompt('My secret word is walrus.', 'You keep secrets.'))).finishReason).toBe(
      'end',
    );
  });

  it('warms the head of a prompt without disturbing what follows it', async () => {
    const { sequence, held } = await opened();
    await sequence.prefill(userPrompt('anything', 'You are a lamp in a long hall.'), neverAborted);
    const head = await held();
    expect(demo.weights.detokenize(head, true)).toBe(
      '<|im_start|>system\nYou are a lamp in a long hall.<|im_end|>\n<|im_start|>user\n',
    );
    const prompt = userPrompt('How are you today?', 'You are a lamp in a long hall.');
    expect((await generate(sequence, prompt)).tokens.reused).toBe(head.length);
    const before = await held();
    await sequence.prefill(prompt, neverAborted);
    expect(await held()).toEqual(before);
  });

  it('begins with an empty cache after the engine has failed in it', async () => {
    const { slots, sequence: open } = await demo.open(2);
    const [broken, whole] = [open(), open()];
    const fine = (await generate(broken, userPrompt('How are you today?'))).text;
    const slot = await slots.acquire(broken, [], neverAborted);
    if (!slot) throw new Error('no slot');
    slot.cache.evaluate = async function* () {
      throw new Error('out of memory');
    };
    slots.release(slot);
    const [failed, other] = await Promise.allSettled([
      generate(broken, userPrompt('How are you today?')),
      generate(whole, userPrompt('How are you today?')),
    ]);
    expect(failed).toMatchObject({
      reason: { name: 'INFERENCE_FAILED', message: expect.stringContaining('out of memory') },
    });
    expect(other).toMatchObject({ value: { text: fine } });
    expect(await generate(broken, userPrompt('How are you today?'))).toMatchObject({
      text: fine,
      tokens: { reused: 0 },
    });
  });
});
