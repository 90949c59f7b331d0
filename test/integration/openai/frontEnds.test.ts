import { describe, expect, it } from 'vitest';
import { chatmlCall, lastPrompt, scriptedEngine } from '../../helpers/resultGraphs.ts';
import { useServer } from '../../helpers/server.ts';

const call = chatmlCall('get_time', { zone: 'UTC' });
const engine = scriptedEngine([
  { match: 'time', nth: 1, answer: call },
  { match: 'mood', answer: '{"mood": "glad"}' },
  { match: '', answer: 'Good evening, traveller.' },
]);
const server = useServer({ openai: true, engines: { 'llama-cpp': engine } });

const url = (path: string): string => `http://127.0.0.1:${server().port}/v1/${path}`;
const getTimeTool = {
  name: 'get_time',
  description: 'Tells the time.',
  parameters: { type: 'object', properties: { zone: { type: 'string' } }, required: ['zone'] },
};
const tools = [{ type: 'function', function: getTimeTool }];
const getTime = { name: 'get_time', arguments: '{"zone": "UTC"}' };

/** The message of a response that is not streamed. */
async function answered(body: object): Promise<unknown> {
  const response = await fetch(url('chat/completions'), { method: 'POST', body: JSON.stringify(body) });
  const { choices, error } = (await response.json()) as { choices?: readonly { message: unknown }[]; error?: unknown };
  return choices?.[0]?.message ?? error;
}

/** The content of the chunks of a stream, which ends as it should. */
async function streamed(body: object): Promise<string> {
  const headers = { 'content-type': 'application/json', authorization: 'Bearer ' };
  const response = await fetch(url('chat/completions'), { method: 'POST', headers, body: JSON.stringify(body) });
  expect(response.headers.get('content-type')).toMatch(/^text\/event-stream/);
  const events = (await response.text()).split('\n\n').filter((event) => event !== '');
  expect(events.at(-1)).toBe('data: [DONE]');
  const chunks = events.slice(0, -1).map((event) => JSON.parse(event.replace(/^data: /, '')) as Chunk);
  return chunks.map(({ choices }) => choices[0]?.delta.content ?? '').join('');
}

interface Chunk {
  readonly choices: readonly { readonly delta: { readonly content?: string } }[];
}

// The fields are those that the public sources of these programs send to a server of this API.
describe('the request of a chat front end', () => {
  it('as SillyTavern sends it to a custom source is answered', async () => {
    const text = await streamed({
      messages: [
        { role: 'system', content: 'Write the next reply of Mira.' },
        { role: 'system', content: 'Mira keeps a tavern.' },
        { role: 'system', content: 'Is it late?', name: 'example_user' },
        { role: 'system', content: '[Start a new Chat]' },
        { role: 'assistant', content: 'Welcome!' },
        { role: 'user', content: 'Good evening.' },
        { role: 'system', content: 'Stay in character.' },
      ],
      model: 'turngraph-demo',
      temperature: 1,
      max_tokens: 300,
      stream: true,
      presence_penalty: 0,
      frequency_penalty: 0,
      top_p: 1,
      stop: [],
      logit_bias: {},
      seed: 12345,
      n: 1,
    });
    expect(text).toBe('Good evening, traveller.');
    expect(lastPrompt(engine)).toEqual([
      'system: Write the next reply of Mira.\n\nMira keeps a tavern.\n\nexample_user: Is it late?\n\n[Start a new Chat]',
      'assistant: Welcome!',
      'user: Good evening.',
      'system: Stay in character.',
    ]);
  });

  it('as SillyTavern sends it with tools, their results and a schema is answered', async () => {
    const messages: object[] = [
      { role: 'system', content: 'You are Mira.' },
      { role: 'user', content: 'What is the time?' },
    ];
    const sampling = { temperature: 1, max_tokens: 300, presence_penalty: 0, frequency_penalty: 0, top_p: 1 };
    const request = { model: 'turngraph-demo', ...sampling, top_k: 0, logit_bias: {}, seed: 7, n: 1 };
    const withTools = { ...request, stream: false, tools, tool_choice: 'auto' };
    expect(await answered({ ...withTools, messages })).toMatchObject({ tool_calls: [{ function: getTime }] });
    messages.push({ role: 'assistant', content: '', tool_calls: [{ id: 'a', type: 'function', function: getTime }] });
    messages.push({ role: 'tool', tool_call_id: 'a', content: 'It is ten.' }, { role: 'user', content: 'Thanks.' });
    expect(await answered({ ...withTools, messages })).toMatchObject({ content: 'Good evening, traveller.' });
    const json_schema = {
      name: 'mood',
      strict: true,
      schema: { type: 'object', properties: { mood: { type: 'string' } } },
    };
    const schema = { ...request, messages: [{ role: 'user', content: 'Your mood?' }] };
    expect(await answered({ ...schema, response_format: { type: 'json_schema', json_schema } })).toMatchObject({
      content: '{"mood": "glad"}',
    });
  });

  it('as Open WebUI sends it with its native tools, and for a title, is answered', async () => {
    const messages: object[] = [{ role: 'user', content: 'What is the time?' }];
    const request = { model: 'turngraph-demo', tools, stream_options: { include_usage: true } };
    expect(await streamed({ ...request, stream: true, messages })).toBe('');
    messages.push({
      role: 'assistant',
      content: '',
      tool_calls: [{ index: 0, id: 'call_1', type: 'function', function: getTime }],
    });
    messages.push({ role: 'tool', tool_call_id: 'call_1', content: 'It is ten.' });
    // The script calls again; that call has its result.
    expect(await streamed({ ...request, stream: true, messages })).toBe('Good evening, traveller.');
    const title = { model: 'turngraph-demo', messages: [{ role: 'user', content: 'A title, please.' }], stream: false };
    for (const limit of [{ max_tokens: 1000 }, { max_completion_tokens: 1000 }])
      expect(await answered({ ...title, ...limit })).toMatchObject({ content: 'Good evening, traveller.' });
  });

  it.each(['turngraph-demo', 'graph:chat'])(
    'as LibreChat sends it to a custom endpoint for %s is answered',
    async (model) => {
      // What its settings leave at their defaults is sent, too.
      const defaults = { temperature: 1, top_p: 1, frequency_penalty: 0, presence_penalty: 0, n: 1, stop: [] };
      const request = {
        model,
        user: '65f0c1d2e3a4b5c6d7e8f901',
        stream: true,
        stream_options: { include_usage: true },
      };
      const system = model === 'graph:chat' ? [] : [{ role: 'system', content: 'Be kind.' }];
      const text = await streamed({
        ...defaults,
        ...request,
        messages: [
          ...system,
          { role: 'user', content: 'Good evening.' },
          { role: 'assistant', content: [{ type: 'text', text: 'Welcome!' }] },
          { role: 'user', content: [{ type: 'text', text: 'A room, please.' }] },
        ],
      });
      expect(text).toBe('Good evening, traveller.');
      expect(lastPrompt(engine).slice(-3)).toEqual([
        'user: Good evening.',
        'assistant: Welcome!',
        'user: A room, please.',
      ]);
    },
  );

  it('finds the list of models as all of them read it', async () => {
    const response = await fetch(url('models'), { headers: { authorization: 'Bearer sk-none' } });
    const { data } = (await response.json()) as { data: readonly { id: string; object: string }[] };
    expect(data).toContainEqual(expect.objectContaining({ id: 'turngraph-demo', object: 'model' }));
  });

  it.each(['turngraph-demo', 'graph:chat'])('as Open WebUI sends it for %s is answered', async (model) => {
    const messages = [{ role: 'user', content: [{ type: 'text', text: 'Good evening.' }] }];
    const text = await streamed({ stream: true, model, messages, stream_options: { include_usage: true } });
    expect(text).toBe('Good evening, traveller.');
  });

  it('as Open WebUI sends it with its parameters is answered', async () => {
    const text = await streamed({
      stream: true,
      model: 'turngraph-demo',
      messages: [
        { role: 'system', content: 'Be kind.' },
        { role: 'user', content: 'Good evening.' },
      ],
      temperature: 0.8,
      top_p: 0.9,
      max_tokens: 128,
      frequency_penalty: 0.5,
      seed: 0,
      stop: ['\nUser:'],
    });
    expect(text).toBe('Good evening, traveller.');
    expect(lastPrompt(engine)[0]).toBe('system: Be kind.');
  });
});
