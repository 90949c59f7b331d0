import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { chainGguf } from '../../scripts/gguf/chain.mjs';
import { byteLevelVocab } from '../../scripts/gguf/vocabulary.mjs';
import { llamaEngine } from '../../src/inference/llama/engine.ts';
import type { CallGrammar } from '../../src/chat/grammar/rule.ts';
import { answerGrammar, ruleFromSchema } from '../../src/chat/grammar/jsonSchema/fromSchema.ts';
import { generate } from '../contracts/generation.ts';
import { chat } from '../helpers/graphs.ts';
import { useServer, TestClient, oneSubprotocol } from '../helpers/server.ts';

/** A template that writes an assistant's message as `reply`, and `end` at the end of a prompt. */
const template = (reply: string, end: string): string =>
  `{% for m in messages %}{% if m.role == 'assistant' %}<|start|>assistant${reply}{% else %}` +
  '<|start|>{{ m.role }}<|text|>{{ m.content }}<|end|>{% endif %}{% endfor %}' +
  `{% if add_generation_prompt %}<|start|>assistant${end}{% endif %}`;

const channels =
  '{% if m.thinking %}<|channel|>analysis<|message|>{{ m.thinking }}<|end|><|start|>assistant{% endif %}' +
  '<|channel|>final<|message|>{{ m.content }}<|end|>';
const response =
  '{% if m.reasoning_content %}<|THINK|>{{ m.reasoning_content }}<|/THINK|>{% endif %}<|SAY|>{{ m.content }}<|/SAY|>';
const word = 'all\n{{ m.content }}<|end|>';

const control = ['<|return|>', '<|start|>', '<|end|>', '<|text|>', '<|channel|>', '<|message|>'];
const vocab = byteLevelVocab({
  pre: 'gpt-4o',
  control: [...control, '<|THINK|>', '<|/THINK|>', '<|SAY|>', '<|/SAY|>'],
  bos: 0,
  eos: 0,
});
const letters = byteLevelVocab({ pre: 'gpt-4o', control: ['<|return|>'], bos: 0, eos: 0 });

/** Answers 1 or "ok" where a grammar leaves a choice, and reasons `hm` before it where a prompt opens that. */
const next = { ':': '1', Ġ: '1', '1': '}', '"': 'o', o: 'k', k: '"' };
const thinking = { ...next, '<|THINK|>': 'h', h: 'm', m: '<|/THINK|>' };

const models = {
  channels: { vocab, next, chatTemplate: template(channels, '') },
  response: { vocab, next, chatTemplate: template(response, '') },
  thinking: { vocab, next: thinking, chatTemplate: template(response, '<|THINK|>') },
  opened: { vocab, next, chatTemplate: template(response, '<|SAY|>') },
  word: { vocab, next, chatTemplate: template(word, '') },
  spelled: { vocab: letters, next, chatTemplate: template(channels, '') },
  unmarked: { vocab, next, chatTemplate: template('{{ m.content }}<|end|>', '') },
};

const schema = { type: 'object', properties: { mood: { enum: [1, 2] } }, required: ['mood'] };
const json = '{"mood": 1}';

let folder = '';
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'turngraph-'));
  const named = Object.entries(models);
  for (const [name, model] of named) await writeFile(join(folder, `${name}.gguf`), chainGguf(model));
  const catalogue = named.map(([name]) => ({
    name,
    variants: [{ engine: 'llama-cpp', local_path: '.', files: [`${name}.gguf`], context_size: 512 }],
  }));
  await writeFile(join(folder, 'models.json'), JSON.stringify({ models: catalogue }));
});
afterAll(() => rm(folder, { recursive: true }));

describe('a JSON answer', () => {
  it.each([
    ['the channel of a message', 'channels', '<|channel|>final<|message|>', '<|start|>assistant'],
    ['a control token', 'response', '<|SAY|>', '<|start|>assistant'],
    ['a control token, after its reasoning', 'thinking', '<|THINK|>hm<|/THINK|><|SAY|>', '<|THINK|>'],
    ['what the prompt ends with', 'opened', '', '<|SAY|>'],
    ['a word', 'word', 'all\n', '<|start|>assistant'],
    ['letters', 'spelled', '<|channel|>final<|message|>', '<|start|>assistant'],
    ['nothing', 'unmarked', '', '<|start|>assistant'],
  ])('starts after %s, as the template writes it', async (_, name, mark, end) => {
    await using engine = llamaEngine();
    const load = { contextSize: 512, slots: 1, threads: 1, gpu: 'off' } as const;
    const model = await engine.load(join(folder, `${name}.gguf`), load);
    const reading = ruleFromSchema(schema);
    if (!reading.ok) throw new Error('the schema is refused');
    const grammar: CallGrammar = answerGrammar(reading.value);
    const prompt = { messages: [{ role: 'user', text: 'Hi' }], thinking: true } as const;
    expect(await model.render(prompt)).toMatch(new RegExp(`${end.replaceAll('|', '\\|')}$`));
    const { text, tokens } = await generate(model.openSequence(), prompt, { grammar });
    expect(text).toBe(mark + json);
    // A mark is one control token where the vocabulary has it.
    if (name === 'response') expect(tokens.generated).toBeLessThanOrEqual(1 + json.length);
  });
});

const server = useServer({
  get catalogue() {
    return join(folder, 'models.json');
  },
});

const fields = [
  { name: 'mood', type: 'enum', values: ['ok', 'okay', 'sad'] },
  { name: 'say', type: 'speech' },
  { name: 'price', type: 'integer' },
];

describe.each(oneSubprotocol)('over %s, a JSON answer', (subprotocol) => {
  it.each(Object.keys(models))('has no mark: %s', async (name) => {
    await using client = await TestClient.connect(server().url, subprotocol, 'llama-cpp');
    for (const stream of [true, false]) {
      const sampling = { temperature: 0, max_tokens: 60 };
      const agentId = await client.createAgent(chat({ model_name: name, response_schema: schema, sampling, stream }));
      expect(await client.sendMessage(agentId, 'Hello!')).toMatchObject({ text: json, stopReason: 'END' });
    }
  });

  it.each(Object.keys(models))('is sent as answer_fields without notation, mark and reasoning: %s', async (name) => {
    await using client = await TestClient.connect(server().url, subprotocol, 'llama-cpp');
    const options = { thinking: true, sampling: { temperature: 0, max_tokens: 99 } };
    const agentId = await client.createAgent(chat({ model_name: name, answer_fields: fields, ...options }));
    const turn = await client.sendMessage(agentId, 'Hello!');
    expect(turn).toMatchObject({ text: 'ok', stopReason: 'END', warnings: [] });
    const sent = turn.frames.flatMap((frame) => (frame.body === 'answerField' ? [frame.answerField.valueJson] : []));
    expect(sent).toEqual(['"ok"', '1']);
  });
});
