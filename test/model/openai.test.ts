import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createOpenAICompatible } from '@ai-sdk/openai-compatible';
import { generateObject, stepCountIs, streamText, tool } from 'ai';
import OpenAI from 'openai';
import { afterAll, describe, expect, it } from 'vitest';
import { z } from 'zod';
import { parseScrape, type Scrape } from '../helpers/prometheus.ts';
import { repositoryPath, useServer } from '../helpers/server.ts';

const model = 'turngraph-demo';
// The longer the context, the more time there is to stop a prompt.
const variant = {
  engine: 'llama-cpp',
  local_path: repositoryPath('models'),
  files: ['turngraph-demo.gguf'],
  context_size: 2048,
};
const entry = { name: model, tool_call_format: 'chatml', default_sampling: { temperature: 0 }, variants: [variant] };
const folder = mkdtempSync(join(tmpdir(), 'turngraph-'));
const catalogue = join(folder, 'models.json');
writeFileSync(catalogue, JSON.stringify({ models: [entry] }));
afterAll(() => rmSync(folder, { recursive: true }));

const server = useServer({ openai: true, logLevel: 'silent', catalogue });
const baseURL = (): string => `http://127.0.0.1:${server().port}/v1`;
const client = (): OpenAI => new OpenAI({ baseURL: baseURL(), apiKey: 'none', maxRetries: 0 });

// Tokens of the template around each message.
const frameTokens = 8;

const tools: OpenAI.ChatCompletionTool[] = [
  {
    type: 'function',
    function: {
      name: 'set_light',
      description: 'Switch a light on or off.',
      parameters: {
        type: 'object',
        properties: { name: { type: 'string', description: 'Which light.' }, on: { type: 'boolean' } },
        required: ['name', 'on'],
      },
    },
  },
];

/** Tokens of a prompt that were evaluated. */
const evaluated = ({ usage }: OpenAI.ChatCompletion): number =>
  (usage?.prompt_tokens ?? 0) - (usage?.prompt_tokens_details?.cached_tokens ?? 0);

describe('the demo model over the OpenAI-compatible API', () => {
  it.each([model, 'graph:chat'])('evaluates of a growing conversation with %s only what is new', async (name) => {
    const messages: OpenAI.ChatCompletionMessageParam[] = [];
    if (name === model)
      messages.push({ role: 'system', content: 'You are a friendly robot who lives in a lighthouse.' });
    const figures: [evaluated: number, prompt: number][] = [];
    for (const content of ['Tell me a joke.', 'Another one, please.', 'Thanks.']) {
      messages.push({ role: 'user', content });
      const completion = await client().chat.completions.create({ model: name, messages });
      figures.push([evaluated(completion), completion.usage?.prompt_tokens ?? 0]);
      messages.push({ role: 'assistant', content: completion.choices[0]?.message.content ?? '' });
    }
    for (const [index, content] of ['Another one, please.', 'Thanks.'].entries()) {
      const [tokens = Infinity, prompt = 0] = figures[index + 1] ?? [];
      expect(tokens).toBeLessThanOrEqual(content.length / 2 + 2 * frameTokens);
      expect(prompt).toBeGreaterThan(2 * tokens);
    }
  });

  it.each([
    {},
    { tool_choice: 'required' },
    { max_tokens: 2000, max_completion_tokens: 8, tool_choice: 'required' },
  ] as const)('cuts a call off at max_tokens with %j, and names that field', async (constraint) => {
    const messages = [{ role: 'user', content: 'Please turn on the porch light.' }] as const;
    const request = { model, messages: [...messages], tools, max_tokens: 8, ...constraint };
    const completion = await client().chat.completions.create(request);
    expect(completion).toMatchObject({
      choices: [{ finish_reason: 'length', message: { content: '' } }],
      usage: { completion_tokens: 8 },
      turngraph: { warnings: [expect.stringContaining('; raise max_tokens')] },
    });
  });

  it('evaluates of a conversation with calls only what is new', async () => {
    const messages: OpenAI.ChatCompletionMessageParam[] = [
      { role: 'user', content: 'Please turn on the porch light.' },
    ];
    const request = { model, messages, tools };
    const first = await client().chat.completions.create(request);
    const call = first.choices[0]?.message.tool_calls?.[0];
    expect(call).toMatchObject({ type: 'function', function: { name: 'set_light' } });
    expect(call?.type === 'function' && JSON.parse(call.function.arguments)).toEqual({ name: 'porch', on: true });
    messages.push(
      { role: 'assistant', content: null, tool_calls: call ? [call] : [] },
      { role: 'tool', tool_call_id: call?.id ?? '', content: 'ok' },
    );
    const second = await client().chat.completions.create(request);
    expect(second.choices[0]?.finish_reason).toBe('stop');
    const callTokens = first.usage?.completion_tokens ?? 0;
    expect(evaluated(second)).toBeLessThanOrEqual(callTokens + 4 * frameTokens);
    messages.push({ role: 'assistant', content: second.choices[0]?.message.content ?? '' });
    messages.push({ role: 'user', content: 'Thanks.' });
    const third = await client().chat.completions.create(request);
    expect(evaluated(third)).toBeLessThanOrEqual((second.usage?.completion_tokens ?? 0) + 4 * frameTokens);
  });

  it('keeps two conversations at a time in their slots', async () => {
    const conversations = [
      'Tell me a joke, please, about the moon and the tide and an old fisherman with a boat.',
      'Where does the lighthouse keeper sleep when a storm comes up from the north at night?',
    ].map((content): OpenAI.ChatCompletionMessageParam[] => [{ role: 'user', content }]);
    const figures: number[] = [];
    for (const content of ['Thanks.', 'Good night.', ''])
      for (const messages of conversations) {
        const completion = await client().chat.completions.create({ model, messages });
        figures.push(evaluated(completion));
        messages.push({ role: 'assistant', content: completion.choices[0]?.message.content ?? '' });
        messages.push({ role: 'user', content });
      }
    for (const tokens of figures.slice(2)) expect(tokens).toBeLessThanOrEqual(2 * frameTokens + 4);
  });

  it('keeps conversations apart that share a long system message, and evaluates that once', async () => {
    const story = 'You keep a lighthouse at the end of a long pier, and you have a boat, a dog and an old lamp. ';
    const begin = (content: string): OpenAI.ChatCompletionMessageParam[] => [
      { role: 'system', content: story.repeat(6) },
      { role: 'user', content },
    ];
    const conversations = [begin('Hello!'), begin('Who are you?'), begin('Tell me a joke.')];
    const figures: number[][] = [];
    for (const content of ['Thanks.', 'Good night.', '']) {
      const round: number[] = [];
      for (const messages of conversations) {
        const completion = await client().chat.completions.create({ model, messages });
        round.push(evaluated(completion));
        messages.push({ role: 'assistant', content: completion.choices[0]?.message.content ?? '' });
        messages.push({ role: 'user', content });
      }
      figures.push(round);
    }
    const [first = [], ...later] = figures;
    expect(first[0]).toBeGreaterThan(100);
    for (const tokens of [...first.slice(1), ...later.flat()]) expect(tokens).toBeLessThanOrEqual(2 * frameTokens + 4);
  });

  it('says how to download a model that is not on disk', async () => {
    const absent = 'Qwen2.5 0.5B Instruct (Q4_K_M)';
    const answer = client().chat.completions.create({ model: absent, messages: [{ role: 'user', content: 'hi' }] });
    await expect(answer).rejects.toMatchObject({ status: 404, code: 'model_not_found', param: 'model' });
    await expect(answer).rejects.toThrow(/^404 model .*download/);
  });

  it('answers in JSON of a schema and of none', async () => {
    const schema = {
      type: 'object',
      properties: { name: { type: 'string', maxLength: 12 } },
      required: ['name'],
      additionalProperties: false,
    };
    const request = { model, max_tokens: 64, seed: 1 };
    const messages: OpenAI.ChatCompletionMessageParam[] = [{ role: 'user', content: 'Who are you?' }];
    const formats = [
      { type: 'json_schema', json_schema: { name: 'person', strict: true, schema } },
      { type: 'json_object' },
    ] as const;
    for (const response_format of formats) {
      const { choices } = await client().chat.completions.create({ ...request, messages, response_format });
      if (choices[0]?.finish_reason === 'stop')
        expect(JSON.parse(choices[0].message.content ?? '')).toBeTypeOf('object');
    }
  });
});

describe('a completion of the demo model whose client goes away', () => {
  const scrape = async () => parseScrape(await (await fetch(`http://127.0.0.1:${server().port}/metrics`)).text());
  const until = async (busy: number): Promise<Scrape> => {
    for (;;) {
      const scraped = await scrape();
      if (scraped.value('turngraph_slots_busy') === busy) return scraped;
    }
  };

  it.each([true, false])('ends in the middle of its prompt (stream: %s), and frees its slot', async (stream) => {
    const before = await until(0);
    const control = new AbortController();
    // No two of the prompts share a prefix; a chunk is 256 tokens.
    const content = `${stream}: `.repeat(20) + 'The tide comes in and the old boat rocks at the pier. '.repeat(90);
    const body = JSON.stringify({ model, stream, messages: [{ role: 'user', content }] });
    const url = `${baseURL()}/chat/completions`;
    const answer = fetch(url, { method: 'POST', body, signal: control.signal }).then((response) => response.text());
    await until(1);
    control.abort();
    await expect(answer).rejects.toThrow(/abort/);
    const after = await until(0);
    for (const name of ['evaluated', 'generated'] as const)
      expect(after.value(`turngraph_${name}_tokens_total`)).toBe(before.value(`turngraph_${name}_tokens_total`));
    const again = await client().chat.completions.create({ model, messages: [{ role: 'user', content: 'Hello!' }] });
    expect(again.choices[0]?.finish_reason).toBe('stop');
  });
});

describe('the demo model with tools and a schema for answers', () => {
  const schema = {
    type: 'object',
    properties: { mood: { enum: ['glad', 'sad'] } },
    required: ['mood'],
    additionalProperties: false,
  };
  const response_format = { type: 'json_schema', json_schema: { name: 'mood', strict: true, schema } } as const;

  it.each([
    ['calls', 'Please turn on the porch light.', 'tool_calls', /^$/],
    ['answers in JSON', 'Hello, how are you?', 'stop', /^\{"mood": "(?:glad|sad)"\}$/],
  ])('%s', async (_, content, finish, text) => {
    const request = { model, tools, response_format, messages: [{ role: 'user', content } as const] };
    const { choices } = await client().chat.completions.create(request);
    expect(choices[0]?.finish_reason).toBe(finish);
    expect(choices[0]?.message.content ?? '').toMatch(text);
  });
});

describe('the ai package with the demo model', () => {
  const provider = createOpenAICompatible({
    name: 'turngraph',
    baseURL: 'http://unused',
    includeUsage: true,
    supportsStructuredOutputs: true,
    fetch: (input, init) => fetch(String(input).replace('http://unused', baseURL()), init),
  });

  it('streams text over two steps with a tool', async () => {
    const switched: object[] = [];
    const result = streamText({
      model: provider(model),
      prompt: 'Please turn on the porch light.',
      stopWhen: stepCountIs(2),
      tools: {
        set_light: tool({
          description: 'Switch a light on or off.',
          inputSchema: z.object({ name: z.string().describe('Which light.'), on: z.boolean() }),
          execute: (args) => {
            switched.push(args);
            return 'ok';
          },
        }),
      },
    });
    const steps = await result.steps;
    expect(switched).toEqual([{ name: 'porch', on: true }]);
    expect(steps.map(({ finishReason }) => finishReason)).toEqual(['tool-calls', 'stop']);
    expect(steps[1]?.usage).toMatchObject({ cachedInputTokens: expect.any(Number) });
  });

  it('generates an object', async () => {
    const { object } = await generateObject({
      model: provider(model),
      schema: z.object({ mood: z.enum(['glad', 'sad']) }),
      prompt: 'How are you?',
    });
    expect(['glad', 'sad']).toContain(object.mood);
  });
});
