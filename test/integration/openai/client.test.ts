import OpenAI, { APIError } from 'openai';
import { describe, expect, it } from 'vitest';
import { chatmlCall, lastPrompt, scriptedEngine } from '../../helpers/resultGraphs.ts';
import { useServer } from '../../helpers/server.ts';

const lamp = (room: string, on: boolean): string => chatmlCall('set_lamp', { room, on });

const engine = scriptedEngine([
  { match: 'wave', answer: chatmlCall('wave', {}) },
  { match: 'both', nth: 1, answer: `${lamp('porch', true)}\n${lamp('hall', true)}` },
  { match: 'say and do', answer: `I will do it right away.\n${lamp('porch', true)}`, chunk: 4 },
  { match: 'porch', answer: lamp('porch', true) },
  { match: 'JSON', answer: '{"name": "Mira", "age": 30}' },
  { match: 'weather', node: 'detect', answer: chatmlCall('get_weather', { city: 'Paris' }) },
  { match: 'weather', node: 'answer', answer: 'It is sunny in Paris.' },
  { match: '', answer: 'Good evening, traveller.' },
]);
const server = useServer({ openai: true, engines: { 'llama-cpp': engine } });
const client = (): OpenAI =>
  new OpenAI({ baseURL: `http://127.0.0.1:${server().port}/v1`, apiKey: 'none', maxRetries: 0 });

const model = 'turngraph-demo';
const tools: OpenAI.ChatCompletionTool[] = [
  {
    type: 'function',
    function: {
      name: 'set_lamp',
      description: 'Switches a lamp.',
      parameters: {
        type: 'object',
        properties: { room: { type: 'string' }, on: { type: 'boolean' } },
        required: ['room', 'on'],
      },
    },
  },
];
const user = (content: string): OpenAI.ChatCompletionMessageParam => ({ role: 'user', content });

describe('the official client', () => {
  it('lists graphs and models', async () => {
    const models = await client().models.list();
    const ids = models.data.map(({ id }) => id);
    expect(ids).toEqual(expect.arrayContaining(['graph:weather', model]));
    expect(await client().models.retrieve('graph:weather')).toMatchObject({ id: 'graph:weather', object: 'model' });
  });

  it('gets an answer of a model', async () => {
    const completion = await client().chat.completions.create({
      model,
      messages: [
        { role: 'developer', content: 'Be {{kind}}.' },
        user('hi'),
        { role: 'assistant', content: 'Yes?' },
        user('hello'),
      ],
      n: 1,
      user: 'u',
      store: false,
      logit_bias: {},
    });
    expect(completion).toMatchObject({
      object: 'chat.completion',
      model,
      choices: [
        { index: 0, message: { role: 'assistant', content: 'Good evening, traveller.' }, finish_reason: 'stop' },
      ],
      usage: { prompt_tokens: expect.any(Number), prompt_tokens_details: { cached_tokens: expect.any(Number) } },
    });
    expect(completion).not.toHaveProperty('turngraph');
    expect(lastPrompt(engine)).toEqual(['system: Be {{kind}}.', 'user: hi', 'assistant: Yes?', 'user: hello']);
  });

  it('answers messages among which none is of the user', async () => {
    const system = { role: 'system', content: 'Say hello.' } as const;
    const call = { id: 'a', type: 'function', function: { name: 'set_lamp', arguments: '{"room": "hall"}' } } as const;
    const round: OpenAI.ChatCompletionMessageParam[] = [
      { role: 'assistant', tool_calls: [call] },
      { role: 'tool', tool_call_id: 'a', content: 'dark' },
    ];
    for (const messages of [[system], round, [system, ...round]]) {
      const { choices } = await client().chat.completions.create({ model, messages, tools });
      expect(choices[0]?.message.content).toBe('Good evening, traveller.');
    }
  });

  it('shows all messages of the system to the model, also if there are no others', async () => {
    const messages = ['Be kind.', 'Say hello.'].map((content) => ({ role: 'system', content }) as const);
    await client().chat.completions.create({ model, messages });
    expect(lastPrompt(engine)[0]).toBe('system: Be kind.\n\nSay hello.');
  });

  it.each([false, true])('takes a function without a schema as one without parameters (strict: %s)', async (strict) => {
    const wave = { type: 'function', function: { name: 'wave', parameters: {}, strict } } as const;
    const { choices } = await client().chat.completions.create({ model, messages: [user('wave')], tools: [wave] });
    expect(choices[0]?.message.tool_calls).toMatchObject([{ function: { name: 'wave', arguments: '{}' } }]);
  });

  it.each([
    ['nothing', {}, false],
    ['no effort', { reasoning_effort: 'none' }, false],
    ['effort', { reasoning_effort: 'low' }, true],
    ['an argument of the template', { chat_template_kwargs: { enable_thinking: true } }, true],
    ['both', { reasoning_effort: 'high', chat_template_kwargs: { enable_thinking: false } }, false],
  ] as const)('lets the model reason as %s says', async (_, fields, thinking) => {
    const own = { store: true, metadata: { game: 'x' }, service_tier: 'flex', verbosity: 'low', user: 'u' } as const;
    await client().chat.completions.create({ model, messages: [user('hello')], ...own, ...(fields as object) });
    expect(engine.prompts.at(-1)?.thinking).toBe(thinking);
  });

  it('streams an answer with its usage', async () => {
    const stream = client().chat.completions.stream({
      model,
      messages: [{ role: 'user', content: [{ type: 'text', text: 'hello' }] }],
      stream_options: { include_usage: true },
    });
    const pieces: string[] = [];
    stream.on('content', (piece) => pieces.push(piece));
    const completion = await stream.finalChatCompletion();
    expect(pieces.length).toBeGreaterThan(1);
    expect(pieces.join('')).toBe('Good evening, traveller.');
    expect(completion).toMatchObject({
      choices: [{ message: { content: 'Good evening, traveller.' }, finish_reason: 'stop' }],
      usage: { completion_tokens: expect.any(Number) },
    });
  });

  it('is told that max_tokens ended the answer', async () => {
    const { choices } = await client().chat.completions.create({ model, messages: [user('hello')], max_tokens: 1 });
    expect(choices[0]?.finish_reason).toBe('length');
  });

  it.each([false, true])('gets calls, gives their results and gets an answer (stream: %s)', async (streams) => {
    const messages = [user('both porch and hall')];
    const request = { model, messages, tools };
    const first = streams
      ? await client().chat.completions.stream(request).finalChatCompletion()
      : await client().chat.completions.create(request);
    const [choice] = first.choices;
    expect(choice?.finish_reason).toBe('tool_calls');
    const calls = choice?.message.tool_calls ?? [];
    expect(
      calls.map((call) => call.type === 'function' && [call.function.name, JSON.parse(call.function.arguments)]),
    ).toEqual([
      ['set_lamp', { room: 'porch', on: true }],
      ['set_lamp', { room: 'hall', on: true }],
    ]);
    const results = calls.map(
      ({ id }, index) => ({ role: 'tool', tool_call_id: id, content: `lamp ${index}` }) as const,
    );
    if (choice) messages.push(choice.message, ...results);
    // The script answers the message again with a call that has its result: it is not sent again.
    const second = await client().chat.completions.create(request);
    expect(engine.prompts.at(-1)?.messages.map(({ toolExchange }) => toolExchange?.kind)).toEqual(
      expect.arrayContaining(['calls', 'result', 'result']),
    );
    expect(second.choices[0]?.message.tool_calls).toBeUndefined();
  });

  it('is streamed text although tools are offered, and calls after it', async () => {
    const streamOf = async (content: string): Promise<readonly string[]> => {
      const stream = await client().chat.completions.create({ model, messages: [user(content)], tools, stream: true });
      const shown: string[] = [];
      for await (const { choices } of stream) {
        const [{ delta, finish_reason } = { delta: {}, finish_reason: null }] = choices;
        shown.push(
          ...[delta.content ?? [], delta.tool_calls?.map((call) => `call ${call.function?.name}`) ?? []].flat(),
        );
        if (finish_reason) shown.push(finish_reason);
      }
      return shown.filter((piece) => piece !== '');
    };
    const answered = await streamOf('hello');
    expect(answered.length).toBeGreaterThan(3);
    expect(answered.join('')).toBe('Good evening, traveller.stop');
    const called = await streamOf('say and do');
    expect(called.slice(-2)).toEqual(['call set_lamp', 'tool_calls']);
    expect(called.slice(0, -2).join('')).toBe('I will do it right away.');
    expect(called.length).toBeGreaterThan(4);
  });

  it('gets either a call or JSON when both are asked for', async () => {
    const request = { model, tools, response_format: { type: 'json_object' } } as const;
    const json = await client().chat.completions.create({ ...request, messages: [user('JSON please')] });
    expect(json.choices[0]).toMatchObject({
      finish_reason: 'stop',
      message: { content: '{"name": "Mira", "age": 30}' },
    });
    const call = await client().chat.completions.create({ ...request, messages: [user('porch')] });
    expect(call.choices[0]).toMatchObject({ finish_reason: 'tool_calls', message: { content: null } });
  });

  it('gets one call at most with parallel_tool_calls false', async () => {
    const completion = await client().chat.completions.create({
      model,
      messages: [user('both')],
      tools,
      parallel_tool_calls: false,
    });
    expect(completion.choices[0]?.message.tool_calls).toHaveLength(1);
    expect(completion).toMatchObject({ turngraph: { warnings: [expect.stringContaining('parallel_tool_calls')] } });
  });

  it.each(['required', { type: 'function', function: { name: 'set_lamp' } }] as const)(
    'gets a call with tool_choice %j',
    async (tool_choice) => {
      const { choices } = await client().chat.completions.create({
        model,
        messages: [user('porch')],
        tools,
        tool_choice,
      });
      expect(choices[0]?.finish_reason).toBe('tool_calls');
    },
  );

  it('gets a text with tool_choice none', async () => {
    const { choices } = await client().chat.completions.create({
      model,
      messages: [user('hello')],
      tools,
      tool_choice: 'none',
    });
    expect(choices[0]).toMatchObject({ finish_reason: 'stop', message: { content: 'Good evening, traveller.' } });
  });

  it('gets an answer that fits a JSON schema', async () => {
    const schema = { type: 'object', properties: { name: { type: 'string' }, age: { type: 'integer' } } };
    const { choices } = await client().chat.completions.create({
      model,
      messages: [user('JSON please')],
      response_format: { type: 'json_schema', json_schema: { name: 'person', schema, strict: true } },
    });
    expect(JSON.parse(choices[0]?.message.content ?? '')).toEqual({ name: 'Mira', age: 30 });
  });

  it('lets a graph call, gives its results, and goes on where the graph does', async () => {
    const messages = [user('How is the weather?')];
    const request = { model: 'graph:weather', messages, temperature: 1 };
    const first = await client().chat.completions.create(request);
    const [choice] = first.choices;
    expect(choice).toMatchObject({ finish_reason: 'tool_calls', message: { content: null } });
    const id = choice?.message.tool_calls?.[0]?.id ?? '';
    if (choice) messages.push(choice.message, { role: 'tool', tool_call_id: id, content: 'sunny' });
    const second = await client().chat.completions.create(request);
    expect(second.choices[0]).toMatchObject({ finish_reason: 'stop', message: { content: 'It is sunny in Paris.' } });
    expect(lastPrompt(engine).slice(1)).toEqual([
      'user: How is the weather?',
      expect.stringContaining('get_weather'),
      expect.stringContaining('sunny'),
    ]);
    messages.push({ role: 'assistant', content: 'It is sunny in Paris.' }, user('Thanks.'));
    await client().chat.completions.create({ ...request, stream: false });
    expect(lastPrompt(engine).slice(1)).toEqual([
      'user: How is the weather?',
      'system: Result of get_weather {"city": "Paris"}: sunny',
      'assistant: It is sunny in Paris.',
      'user: Thanks.',
    ]);
  });

  it('gets errors with status, parameter and code', async () => {
    const error: unknown = await client()
      .chat.completions.create({ model: 'nobody', messages: [user('hi')] })
      .catch((thrown: unknown) => thrown);
    expect(error).toBeInstanceOf(APIError);
    expect(error).toMatchObject({
      status: 404,
      code: 'model_not_found',
      param: 'model',
      type: 'invalid_request_error',
    });
  });
});
