import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { boundedTools, schemas, tools as declarations } from '../../scripts/evals/strict/cases.mjs';
import { checkCalls, checkJson } from '../../scripts/evals/strict/grammarCheck.mjs';
import { writableTools } from '../../scripts/evals/strict/writableTools.mjs';
import { familyGguf } from '../../scripts/gguf/families.mjs';
import { nativeFamilies, nativeGguf } from '../../scripts/gguf/nativeFamilies.mjs';
import type { Prompt } from '../../src/chat/dialog.ts';
import type { Engine, Model, Sequence } from '../../src/inference/contract/engine.ts';
import { llamaEngine } from '../../src/inference/llama/engine.ts';
import { toFunctionDefinition } from '../../src/chat/formats/toolText.ts';
import { chatml } from '../../src/chat/formats/chatml.ts';
import { formats } from '../../src/chat/formats/index.ts';
import type { CallGrammar, ToolChoice } from '../../src/chat/grammar/rule.ts';
import { answerGrammar, ruleFromSchema } from '../../src/chat/grammar/jsonSchema/fromSchema.ts';
import { formatsOf } from '../../src/chat/dialect/nativeFormat.ts';
import { readTool } from '../../src/chat/tools/declaration/readTool.ts';
import type { ToolDeclaration } from '../../src/chat/tools/declaration/toolSchema.ts';
import type { Tool } from '../../src/chat/tool.ts';
import { userPrompt, generate } from '../contracts/generation.ts';
import { objectSchema } from '../helpers/grammarRules.ts';
import { demoFile } from './demo.ts';

const toTool = (declaration: object): Tool => {
  const reading = readTool({ consequential: false, ...declaration } as ToolDeclaration);
  if (!reading.ok) throw new Error(JSON.stringify(reading.errors));
  return reading.value;
};

const toGrammar = (schema: object): CallGrammar => {
  const reading = ruleFromSchema(schema);
  if (!reading.ok) throw new Error(JSON.stringify(reading.errors));
  return answerGrammar(reading.value);
};

const range = (count: number): readonly number[] => Array.from({ length: count }, (_, index) => index);

/** How many answers are drawn with each schema; with the grammar of each choice of a tool, one. */
const draws = 2;
/** Enough for a call: a model with random weights goes on for ever after it. */
const freeTokens = 100;
const testTools = declarations.map(toTool);
const load = { contextSize: 1024, slots: 2, threads: 1, gpu: 'off' } as const;
const folder = mkdtempSync(join(tmpdir(), 'strict-'));
let engine: Engine;

beforeAll(() => void (engine = llamaEngine()));
afterAll(async () => {
  await engine[Symbol.asyncDispose]();
  rmSync(folder, { recursive: true });
});

async function withModel(file: string, work: (model: Model) => Promise<void>): Promise<void> {
  const model = await engine.load(file, load);
  try {
    await work(model);
  } finally {
    await model[Symbol.asyncDispose]();
  }
}

function writeFamilyModel(name: string): string {
  const file = join(folder, `${name}.gguf`);
  writeFileSync(file, familyGguf(name));
  return file;
}

const choices: readonly ToolChoice[] = [{ kind: 'auto' }, { kind: 'required' }, { kind: 'tool', name: 'give_item' }];

describe('a model with random weights at temperature 1.5', () => {
  it.each([
    ['chatml', 'Qwen2.5 Instruct'],
    ['llama3', 'Llama 3.1 Instruct'],
    ['mistral', 'Mistral 7B Instruct v0.3'],
    ['mistral', 'Mistral Nemo Instruct'],
    ['generic', 'Qwen3'],
    ['react', 'Qwen3'],
  ])('generates only valid calls in %s (%s)', async (name, of) => {
    const format = formats.get(name) ?? chatml;
    await withModel(writeFamilyModel(of), async (model) => {
      for (const choice of choices) {
        const { complete, wrong } = await checkCalls(model, {
          format,
          tools: testTools,
          choice,
          count: 1,
          freeTokens,
        });
        expect(wrong).toEqual([]);
        expect(complete).toBeGreaterThanOrEqual(1);
      }
    });
  });

  it.each([...nativeFamilies.keys()])('generates only valid calls in a notation of its own (%s)', async (name) => {
    const file = join(folder, 'native.gguf');
    writeFileSync(file, nativeGguf(name));
    await withModel(file, async (model) => {
      const format = formatsOf(model.toolDialect, formats).get('native');
      if (!format) throw new Error(model.toolDialect.because);
      const { writable: tools } = writableTools(boundedTools.map(toTool), format);
      expect(tools.length).toBeGreaterThanOrEqual(5);
      for (const choice of choices) {
        const { complete, wrong } = await checkCalls(model, { format, tools, choice, count: 1, freeTokens });
        expect(wrong).toEqual([]);
        expect(complete).toBeGreaterThanOrEqual(1);
      }
    });
  });

  it('generates only answers that fit their schema', async () => {
    await withModel(writeFamilyModel('Mistral 7B Instruct v0.3'), async (model) => {
      for (const schema of schemas) {
        const { complete, wrong } = await checkJson(model, { grammar: toGrammar(schema), schema, count: draws });
        expect(wrong).toEqual([]);
        expect(complete).toBe(draws);
      }
    });
  });

  it('generates characters of several tokens within strings', async () => {
    await withModel(writeFamilyModel('Qwen2.5 Instruct'), async (model) => {
      const sequence = model.openSequence();
      const grammar = toGrammar({ type: 'string', minLength: 120, maxLength: 120 });
      const { text } = await generate(sequence, userPrompt('?'), {
        grammar,
        sampling: { temperature: 1.5, max_tokens: 900 },
      });
      expect(text).toMatch(/[^\u0000-\u024F\uFFFD]/u);
      expect([...(JSON.parse(text) as string)]).toHaveLength(120);
    });
  });
});

describe('the demo model', () => {
  const light = toTool({
    name: 'set_light',
    description: 'Turn a named light on or off.',
    parameters: [
      { name: 'name', type: 'string', description: 'Which light.' },
      { name: 'on', type: 'boolean', description: 'true to turn it on.' },
    ],
  });
  const timer = toTool({
    name: 'set_timer',
    description: 'Start a timer.',
    parameters: [{ name: 'minutes', type: 'integer', description: 'How many minutes.' }],
  });
  const tools = [light, timer];
  const toolBlock = {
    format: 'chatml',
    definitions: tools.map(toFunctionDefinition),
    place: 'system',
    text: chatml.render(tools),
  };
  const request = (text: string): Prompt => ({ messages: [{ role: 'user', text }], tools: toolBlock }) as Prompt;
  const [strict, required, named] = (
    [{ kind: 'auto' }, { kind: 'required' }, { kind: 'tool', name: 'set_timer' }] as const
  ).map((choice) => chatml.grammar?.(tools, choice) ?? toGrammar({ const: '' })) as [
    CallGrammar,
    CallGrammar,
    CallGrammar,
  ];
  let model: Model;
  let sequence: Sequence;

  beforeAll(async () => {
    model = await engine.load(demoFile, load);
    sequence = model.openSequence();
  });

  it.each([
    ['Turn the porch light on.', '{"name": "set_light", "arguments": {"name": "porch", "on": true}}'],
    ['Switch off the kitchen light.', '{"name": "set_light", "arguments": {"name": "kitchen", "on": false}}'],
    ['Set a timer for 12 minutes.', '{"name": "set_timer", "arguments": {"minutes": 12}}'],
  ])('generates the same call with and without a grammar: %s', async (text, call) => {
    const unconstrained = await generate(sequence, request(text), { controlTokens: true });
    const constrained = await generate(sequence, request(text), { controlTokens: true, grammar: strict });
    expect(unconstrained.text).toBe(`<tool_call>\n${call}\n</tool_call>`);
    const { generated } = unconstrained.tokens;
    expect(constrained).toMatchObject({ text: unconstrained.text, finishReason: 'end', tokens: { generated } });
  });

  it('generates the same answer with and without a grammar when it calls nothing', async () => {
    const unconstrained = await generate(sequence, request('How are you today?'), { controlTokens: true });
    const constrained = await generate(sequence, request('How are you today?'), {
      controlTokens: true,
      grammar: strict,
    });
    expect(constrained.text).toBe(unconstrained.text);
  });

  it('calls the required tool, and then ends', async () => {
    const { text, pieces, finishReason } = await generate(sequence, request('How are you today?'), { grammar: named });
    expect(text).toMatch(/^<tool_call>\n\{"name": "set_timer", "arguments": \{"minutes": -?\d+\}\}\n<\/tool_call>$/);
    expect(pieces.join('')).toBe(text);
    expect(finishReason).toBe('end');
  });

  it('completes a call in spite of max_tokens and stop strings', async () => {
    const sampling = { max_tokens: 3, stop: ['"', 'call'] };
    const { text, finishReason } = await generate(sequence, request('Turn the porch light on.'), {
      grammar: required,
      sampling,
    });
    expect(finishReason).toBe('end');
    expect(chatml.detect(text).calls).toHaveLength(1);
  });

  it('is truncated in a call by the budget of the grammar, and in an answer by max_tokens', async () => {
    const cut = await generate(sequence, request('Turn the porch light on.'), { grammar: { ...required, budget: 5 } });
    expect(cut).toMatchObject({ finishReason: 'length', tokens: { generated: 5 } });
    expect(chatml.detect(cut.text)).toMatchObject({ calls: [], truncated: true });
    const answer = await generate(sequence, request('Hello'), {
      grammar: toGrammar({
        type: 'object',
        properties: { a_long_name_of_a_key: { type: 'string' } },
        required: ['a_long_name_of_a_key'],
      }),
      sampling: { max_tokens: 4 },
    });
    expect(answer).toMatchObject({ finishReason: 'length', tokens: { generated: 4 } });
    expect('{"a_long_name_of_a_key": "'.startsWith(answer.text)).toBe(true);
  });

  it('is truncated by max_tokens in an answer that its schema forces', async () => {
    const sampling = { max_tokens: 40 };
    for (const schema of [
      { const: 'abc '.repeat(10_000) },
      { enum: ['abc '.repeat(200), 'b'.repeat(800)] },
      objectSchema({ a: { const: 'abc '.repeat(500) }, b: { type: 'integer' } }),
    ]) {
      const { finishReason, tokens } = await generate(sequence, request('Hello'), {
        grammar: toGrammar(schema),
        sampling,
      });
      expect({ finishReason, generated: tokens.generated }).toEqual({ finishReason: 'length', generated: 40 });
    }
  });

  it('is truncated by the context in an answer that its schema forces', async () => {
    const grammar = toGrammar({ const: 'abc '.repeat(10_000) });
    const { finishReason, tokens } = await generate(sequence, request('Hello'), {
      grammar,
      sampling: { max_tokens: 9999 },
    });
    expect(finishReason).toBe('length');
    expect(tokens.prompt + tokens.generated).toBe(load.contextSize);
  });

  it('generates a long constant completely', async () => {
    const value = `${'The quick brown fox. '.repeat(35)}🎉`;
    const { text, finishReason } = await generate(sequence, request('Hello'), {
      grammar: toGrammar({ const: value }),
      sampling: { max_tokens: 900 },
    });
    expect({ text, finishReason }).toEqual({ text: JSON.stringify(value), finishReason: 'end' });
  });

  it.each<[string, object]>([
    [
      '200 members that may be absent',
      objectSchema(Object.fromEntries(range(200).map((index) => [`p${index}`, { type: 'boolean' }])), ['p3', 'p190']),
    ],
    [
      '1,000 values',
      { type: 'array', items: { enum: range(1000).map((index) => `value ${index}`) }, minItems: 3, maxItems: 5 },
    ],
    [
      '100 branches',
      { oneOf: range(100).map((index) => objectSchema({ kind: { const: `kind ${index}` }, on: { type: 'boolean' } })) },
    ],
    [
      'lists in lists',
      range(3).reduce((items: object) => ({ type: 'array', items, minItems: 2, maxItems: 4 }), { type: 'boolean' }),
    ],
  ])('answers with a schema of %s', async (_, schema) => {
    const { complete, wrong } = await checkJson(model, { grammar: toGrammar(schema), schema, count: 2 });
    expect({ complete, wrong }).toEqual({ complete: 2, wrong: [] });
  });

  it('ends when aborted in a call, and is usable afterwards', async () => {
    const control = new AbortController();
    const cut = await generate(sequence, request('Turn the porch light on.'), {
      grammar: strict,
      signal: control.signal,
      onText: () => control.abort(),
    });
    expect(cut.finishReason).toBe('aborted');
    const whole = await generate(sequence, request('Turn the porch light on.'), { grammar: strict });
    expect(whole.text.startsWith(cut.text)).toBe(true);
    expect(chatml.detect(whole.text).calls).toHaveLength(1);
  });

  it('continues a call after backpressure', async () => {
    const whole = await generate(sequence, request('Turn the porch light on.'), { grammar: required });
    const paused = await generate(sequence, request('Turn the porch light on.'), {
      grammar: required,
      backpressure: () => Promise.resolve(),
    });
    expect(paused).toMatchObject({
      text: whole.text,
      finishReason: 'end',
      tokens: { generated: whole.tokens.generated },
    });
  });

  it('emits text that the grammar forces completely without sampling', async () => {
    const { text, finishReason } = await generate(sequence, request('Hello'), {
      grammar: toGrammar({ const: { a: 'b' } }),
    });
    expect({ text, finishReason }).toEqual({ text: '{"a": "b"}', finishReason: 'end' });
  });

  it('keeps concurrent constrained generations apart', async () => {
    const other = model.openSequence();
    const [one, two] = await Promise.all([
      generate(sequence, request('Turn the porch light on.'), { grammar: strict }),
      generate(other, request('Set a timer for 12 minutes.'), { grammar: strict }),
    ]);
    expect([one, two].map(({ text }) => chatml.detect(text).calls[0]?.name)).toEqual(['set_light', 'set_timer']);
    await other[Symbol.asyncDispose]();
  });
});
