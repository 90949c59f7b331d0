import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { chainGguf } from '../../scripts/gguf/chain.mjs';
import { tinyGguf } from '../../scripts/gguf/gguf.mjs';
import { byteLevelVocab } from '../../scripts/gguf/vocabulary.mjs';
import { llamaEngine } from '../../src/inference/llama/engine.ts';
import { ProcessEngine } from '../../src/inference/process/engine.ts';
import { type CallGrammar, all, tag, text } from '../../src/chat/grammar/rule.ts';
import { splitReply } from '../../src/chat/reply/reasoning/splitReply.ts';
import { generate, userPrompt } from '../contracts/generation.ts';
import { harmonyMarks } from '../helpers/replyMarks.ts';

const template =
  "{% for m in messages %}{% if m.role == 'assistant' %}{% if m.thinking %}<|start|>assistant<|channel|>analysis<|message|>" +
  '{{ m.thinking }}<|end|>{% endif %}<|start|>assistant<|channel|>final<|message|>{{ m.content }}<|end|>{% else %}' +
  '<|start|>{{ m.role }}<|message|>{{ m.content }}<|end|>{% endif %}{% endfor %}' +
  '{% if add_generation_prompt %}<|start|>assistant{% endif %}';

const marks = ['<|start|>', '<|end|>', '<|message|>', '<|channel|>'];
const control = ['<|return|>', '<|other|>', ...marks];

/** What a model that reasons writes: forced by a grammar, since the weights of the tests are random. */
const reply: CallGrammar = {
  kind: 'full',
  rule: all(
    tag('<|channel|>'),
    text('analysis'),
    tag('<|message|>'),
    text('a plan'),
    tag('<|end|>'),
    tag('<|start|>'),
    text('assistant'),
    tag('<|channel|>'),
    text('final '),
    tag('<|other|>'),
    text('json'),
    tag('<|message|>'),
    text('Hi.'),
  ),
};

describe.each([
  ['one control token', byteLevelVocab({ pre: 'llama-bpe', control, bos: 0, eos: 0 })],
  ['letters', byteLevelVocab({ pre: 'llama-bpe', control: ['<|return|>'], bos: 0, eos: 0 })],
])('a model that spells each mark of its replies as %s', (spelling, vocab) => {
  const engines = [llamaEngine(), new ProcessEngine()];
  let folder = '';
  let file = '';
  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'turngraph-'));
    file = join(folder, 'messages.gguf');
    await writeFile(file, tinyGguf({ vocab, chatTemplate: template }));
  });
  afterAll(async () => {
    for (const engine of engines) await engine[Symbol.asyncDispose]();
    await rm(folder, { recursive: true });
  });

  it.each([
    ['in this process', 0],
    ['in an engine process', 1],
  ])('has its reasoning told apart from its answer, %s', async (_, index) => {
    const model = await engines[index]?.load(file, { contextSize: 512, slots: 1, threads: 1, gpu: 'off' });
    if (!model) throw new Error('there is no such engine');
    expect(model.replyMarks).toEqual(harmonyMarks);
    const options = { grammar: reply, sampling: { max_tokens: 400 } };
    const { text, pieces } = await generate(model.openSequence(), userPrompt('Hello!'), options);
    expect(text).toBe(pieces.join(''));
    expect(splitReply(text, model.replyMarks)).toMatchObject({ reasoning: 'a plan', content: 'Hi.' });
    // All other control tokens stay out of the text.
    expect(text.includes('<|other|>')).toBe(spelling === 'letters');
  });
});

describe('a model whose messages end with what also ends its turns', () => {
  it('goes on after the message with its reasoning', async () => {
    const engine = llamaEngine();
    const folder = await mkdtemp(join(tmpdir(), 'turngraph-'));
    const file = join(folder, 'messages.gguf');
    const userDefined = ['assistant', 'analysis'];
    // llama.cpp has a rule for exactly these tokens; node-llama-cpp takes `<|end|>` for an end of generation token.
    const vocab = byteLevelVocab({
      pre: 'llama-bpe',
      control: ['<|return|>', '<|call|>', ...marks],
      userDefined,
      bos: 0,
      eos: 0,
    });
    const next = {
      assistant: '<|channel|>',
      '<|channel|>': 'analysis',
      analysis: '<|message|>',
      '<|message|>': 'x',
      x: '<|end|>',
      '<|end|>': 'O',
      O: 'K',
    };
    await writeFile(file, chainGguf({ vocab, next, chatTemplate: template }));
    try {
      const model = await engine.load(file, { contextSize: 256, slots: 1, threads: 1, gpu: 'off' });
      const { text, finishReason } = await generate(model.openSequence(), userPrompt('Hello!'));
      expect(finishReason).toBe('end');
      expect(splitReply(text, model.replyMarks)).toMatchObject({ reasoning: 'x', content: 'OK' });
    } finally {
      await engine[Symbol.asyncDispose]();
      await rm(folder, { recursive: true });
    }
  });
});
