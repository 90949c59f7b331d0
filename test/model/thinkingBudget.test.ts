import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { chainGguf } from '../../scripts/gguf/chain.mjs';
import { byteLevelVocab } from '../../scripts/gguf/vocabulary.mjs';
import type { Completion, Engine, GenerateOptions } from '../../src/inference/contract/engine.ts';
import type { SamplingParams } from '../../src/inference/contract/samplingParams.ts';
import { llamaEngine } from '../../src/inference/llama/engine.ts';
import { ProcessEngine } from '../../src/inference/process/engine.ts';
import { type CallGrammar, all, any, text } from '../../src/chat/grammar/rule.ts';
import { anyString } from '../../src/chat/grammar/jsonRules.ts';
import { textWithout } from '../../src/chat/grammar/textWithout.ts';
import { generate } from '../contracts/generation.ts';

/** A template whose prompts end with `end`. */
const template = (end: string): string =>
  "{% for m in messages %}{% if m.reasoning_content %}{{ '<think>\\n' + m.reasoning_content + '\\n</think>\\n\\n' }}{% endif %}" +
  `{{ m.content }}{% endfor %}{% if add_generation_prompt %}{{ '${end}' }}{% endif %}`;
const opensReasoning = template('<think>');

const lineFeed = 'Ċ';
/** Reasons for ever, and answers OK. */
const endless = { ':': '<think>', '<think>': 'x', x: 'y', y: 'z', z: 'x', [lineFeed]: 'O', O: 'K' };
/** A vocabulary with the marks as tokens, or as letters. */
const tags = ['<think>', '</think>'];
const vocabulary = (control: readonly string[] = [], userDefined = tags) =>
  byteLevelVocab({ pre: 'llama-bpe', control: ['<eos>', ...control], userDefined, bos: 0, eos: 0 });

const models = {
  opened: { vocab: vocabulary(), chatTemplate: opensReasoning, next: endless },
  unopened: { vocab: vocabulary(), chatTemplate: template(':'), next: endless },
  control: { vocab: vocabulary(tags, []), chatTemplate: template(':'), next: endless },
  short: { vocab: vocabulary(), chatTemplate: opensReasoning, next: { ...endless, z: '</think>', '</think>': 'O' } },
  again: { vocab: vocabulary(), chatTemplate: opensReasoning, next: { ...endless, [lineFeed]: '<think>' } },
  // The two bytes of é.
  bytes: { vocab: vocabulary(), chatTemplate: opensReasoning, next: { ...endless, '<think>': 'Ã', Ã: '©', '©': 'Ã' } },
  letters: {
    vocab: vocabulary([], []),
    chatTemplate: opensReasoning,
    next: { '>': 'x', x: 'y', y: '<', '<': '/', '/': 't', t: 'h', h: 'i', i: 'n', n: 'k', k: '>' },
  },
  // Writes a mark in a value.
  marked: {
    vocab: vocabulary(),
    chatTemplate: template(':'),
    next: { '>': 'a', '"': 'a', a: '<think>', '<think>': 'x', e: 'x', x: 'y', y: 'z', z: '"' },
  },
  call: { vocab: vocabulary(), chatTemplate: opensReasoning, next: { ...endless, y: '{', '{': 'x', O: '{' } },
} as const;

/** Ends a text with a choice, so that not all of it is forced. */
const json = all(text('{"a": '), any(text('1'), text('2')), text('}'));
const full: CallGrammar = { kind: 'full', rule: json };
const lazy: CallGrammar = { kind: 'lazy', triggers: [{ text: '{', where: 'anywhere', rule: json }], budget: 20 };

type RunOptions = Partial<Omit<GenerateOptions, 'sampling'>> & {
  readonly sampling?: Partial<SamplingParams>;
  readonly thinking?: boolean;
  readonly contextSize?: number;
};

describe('a budget of reasoning tokens', () => {
  const engine = llamaEngine();
  let folder = '';
  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'turngraph-'));
    for (const [name, model] of Object.entries(models)) await writeFile(join(folder, `${name}.gguf`), chainGguf(model));
  });
  afterAll(async () => {
    await engine[Symbol.asyncDispose]();
    await rm(folder, { recursive: true });
  });

  const runOn = async (
    target: Engine,
    name: keyof typeof models,
    { thinking = true, contextSize = 256, ...options }: RunOptions,
  ): Promise<Completion> => {
    const model = await target.load(join(folder, `${name}.gguf`), { contextSize, slots: 1, threads: 1, gpu: 'off' });
    try {
      const prompt = { messages: [{ role: 'user', text: 'Hi' }], thinking } as const;
      const completion = await generate(model.openSequence(), prompt, options);
      expect(completion.pieces.join('')).toBe(completion.text);
      return completion;
    } finally {
      await model[Symbol.asyncDispose]();
    }
  };
  const run = (name: keyof typeof models, options: RunOptions): Promise<Completion> => runOn(engine, name, options);

  it.each(['opened', 'unopened', 'control'] as const)('ends the reasoning when it is spent: %s', async (name) => {
    for (const [maxThinkingTokens, reasoning] of [
      [5, 'xyzxy'],
      [1, 'x'],
      [0, ''],
    ] as const) {
      expect(await run(name, { maxThinkingTokens })).toMatchObject({
        text: `<think>${reasoning}\n</think>\n\nOK`,
        finishReason: 'end',
      });
    }
  });

  it('counts the closing mark as generated tokens', async () => {
    // Five of reasoning, a line feed, the mark, two line feeds, and two of the answer.
    expect((await run('opened', { maxThinkingTokens: 5 })).tokens.generated).toBe(5 + 4 + 2);
  });

  it('changes nothing where there is none, or where the model stays below it', async () => {
    expect(await run('opened', {})).toMatchObject({ text: `<think>${'xyz'.repeat(13)}x`, finishReason: 'length' });
    expect(await run('short', {})).toMatchObject({ text: '<think>xyz</think>OK' });
    expect(await run('short', { maxThinkingTokens: 4 })).toMatchObject({ text: '<think>xyz</think>OK' });
  });

  it('ends reasoning that the model opens again at once', async () => {
    const { text: reply } = await run('again', { maxThinkingTokens: 2, sampling: { max_tokens: 4 } });
    expect(reply).toBe('<think>xy\n</think>\n\n<think>\n</think>\n\n<think>');
  });

  it('never ends it within a character', async () => {
    expect((await run('bytes', { maxThinkingTokens: 3 })).text).toBe('<think>éé\n</think>\n\nOK');
  });

  it('lets the model finish a closing mark that it has begun', async () => {
    const { text: free } = await run('letters', {});
    expect(free).toMatch(/^<think>xy<\/think>xy/);
    for (const maxThinkingTokens of [3, 4, 9]) expect((await run('letters', { maxThinkingTokens })).text).toBe(free);
    expect((await run('letters', { maxThinkingTokens: 2 })).text).toMatch(/^<think>xy\n<\/think>\n\n/);
  });

  it('does not exceed the context', async () => {
    const { text: reply, finishReason, tokens } = await run('opened', { maxThinkingTokens: 10, contextSize: 16 });
    expect(finishReason).toBe('length');
    expect(tokens.prompt + tokens.generated).toBeLessThanOrEqual(16);
    expect(reply).toBe('<think>xyzxyzxyzx');
  });

  it('is followed by calls that a grammar constrains', async () => {
    const options = { grammar: lazy, sampling: { max_tokens: 12 } };
    const { text: reply } = await run('call', { ...options, maxThinkingTokens: 4 });
    expect(reply).toMatch(/^<think>xy\{x\n<\/think>\n\nO\{"a": [12]\}/);
  });

  it('precedes a text that is constrained as a whole', async () => {
    const { text: reply } = await run('opened', { grammar: full, maxThinkingTokens: 4 });
    expect(reply).toMatch(/^<think>xyzx\n<\/think>\n\n\{"a": [12]\}$/);
  });

  it('is max_tokens before a text that is constrained as a whole', async () => {
    const { text: reply } = await run('opened', { grammar: full, sampling: { max_tokens: 20 } });
    expect(reply).toMatch(/^<think>(?:xyz){6}xy\n<\/think>\n\n\{"a": [12]\}$/);
  });

  it('is zero before a constrained text of a model that is not to reason', async () => {
    const { text: reply } = await run('opened', { grammar: full, thinking: false });
    expect(reply).toMatch(/^<think>\n<\/think>\n\n\{"a": [12]\}$/);
  });

  it('lets constrained text follow a closing mark of the model as the template has it', async () => {
    expect((await run('short', { grammar: full })).text).toMatch(/^<think>xyz<\/think>\n\n\{"a": [12]\}$/);
  });

  it('does not start in constrained text, whose values stay as they are', async () => {
    const raw: CallGrammar = { kind: 'full', rule: all(text('<p>'), textWithout(['</p>'], { min: 1 }), text('</p>')) };
    const quoted: CallGrammar = { kind: 'full', rule: all(text('{"p": '), anyString, text('}')) };
    // A raw string has no escapes, and its value must stay what the model wrote.
    const options = { grammar: raw, maxThinkingTokens: 0 };
    expect((await run('marked', options)).text).toMatch(/^<p>a<think>xyz"a<think>xyz/);
    expect((await run('marked', { ...options, grammar: quoted })).text).toMatch(/^\{"p": "a<think\\u003exyz"\}$/);
  });

  it('is known in an engine process', async () => {
    await using processes = new ProcessEngine();
    expect((await runOn(processes, 'opened', { maxThinkingTokens: 4 })).text).toBe('<think>xyzx\n</think>\n\nOK');
  });
});
