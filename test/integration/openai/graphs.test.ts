import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import OpenAI, { APIUserAbortError } from 'openai';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { TurngraphServer } from '../../../src/server/socket/server.ts';
import { Gate } from '../../helpers/gate.ts';
import { heldEngine } from '../../helpers/heldEngine.ts';
import { parseScrape } from '../../helpers/prometheus.ts';
import { chatmlCall } from '../../helpers/resultGraphs.ts';
import { startTestServer } from '../../helpers/server.ts';

const lamp = (room: string): string => chatmlCall('set_lamp', { room });
const gate = new Gate();
const engine = heldEngine([
  { match: 'both', node: 'act', answer: `${lamp('porch')}\n${lamp('hall')}` },
  { match: 'say', node: 'act', answer: `I will do it right away.\n${lamp('porch')}`, chunk: 4 },
  { match: 'lamp', node: 'act', answer: lamp('porch') },
  { match: 'Who', answer: '{"name": "Mira"}' },
  { match: 'slowly', node: 'answer', answer: 'One two three four five.', gate, piecesBeforeGate: 2 },
  { match: '', node: 'act', answer: 'No call.' },
  { match: '', answer: 'The lamps are lit, traveller.', chunk: 4 },
]);
const tools = [{ name: 'set_lamp', description: 'Lights a lamp.', parameters: [{ name: 'room', type: 'string' }] }];
const schema = { type: 'object', properties: { name: { type: 'string' } }, required: ['name'] };
const graphs = {
  house: {
    default_model_name: ['turngraph-demo', 'Qwen3 4B (Q4_K_M)'],
    start_node: 'act',
    nodes: {
      act: {
        type: 'ToolCall',
        params: { tools, await_results: true, generate_on_no_tool: false },
        exits: { tool_called: 'answer', no_tool_called: 'answer' },
      },
      answer: { type: 'Generate' },
    },
  },
  speaking: {
    default_model_name: 'turngraph-demo',
    start_node: 'act',
    nodes: { act: { type: 'ToolCall', params: { tools, generate_on_no_tool: true, stream: true } } },
  },
  person: {
    default_model_name: 'turngraph-demo',
    start_node: 'answer',
    nodes: { answer: { type: 'Generate', params: { response_schema: schema } } },
  },
} as const;

let server: TurngraphServer;
let folder: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'turngraph-'));
  for (const [name, graph] of Object.entries(graphs))
    await writeFile(join(folder, `${name}.json`), JSON.stringify(graph));
  server = await startTestServer({ openai: true, graphs: folder, engines: { 'llama-cpp': engine } });
});
afterAll(async () => {
  await server[Symbol.asyncDispose]();
  await rm(folder, { recursive: true });
});
const client = (): OpenAI =>
  new OpenAI({ baseURL: `http://127.0.0.1:${server.port}/v1`, apiKey: 'none', maxRetries: 0 });
const user = (content: string): OpenAI.ChatCompletionMessageParam => ({ role: 'user', content });
const roomsOf = ({ choices }: OpenAI.ChatCompletion): readonly unknown[] =>
  (choices[0]?.message.tool_calls ?? []).map(
    (call) => call.type === 'function' && [call.function.name, JSON.parse(call.function.arguments)],
  );

describe('the official client with a graph', () => {
  it.each([
    ['lamp', ['porch']],
    ['both', ['porch', 'hall']],
  ])('streams the calls of "%s", gives their results, and streams the answer', async (content, rooms) => {
    const messages = [user(content)];
    const request = { model: 'graph:house', messages } as const;
    const first = await client().chat.completions.stream(request).finalChatCompletion();
    expect(first.choices[0]?.finish_reason).toBe('tool_calls');
    expect(roomsOf(first)).toEqual(rooms.map((room) => ['set_lamp', { room }]));
    const [choice] = first.choices;
    if (!choice) throw new Error('no choice');
    messages.push(choice.message);
    for (const { id } of choice.message.tool_calls ?? [])
      messages.push({ role: 'tool', tool_call_id: id, content: 'lit' });
    const stream = client().chat.completions.stream(request);
    const pieces: string[] = [];
    stream.on('content', (piece) => pieces.push(piece));
    const second = await stream.finalChatCompletion();
    expect(second.choices[0]).toMatchObject({ finish_reason: 'stop' });
    expect(pieces.join('')).toBe('The lamps are lit, traveller.');
    expect(pieces.length).toBeGreaterThan(2);
  });

  it('gets one call at most with parallel_tool_calls false', async () => {
    const request = { model: 'graph:house', messages: [user('both')], parallel_tool_calls: false };
    expect(roomsOf(await client().chat.completions.create(request))).toEqual([['set_lamp', { room: 'porch' }]]);
  });

  it('gets the text of a node that streams before its call', async () => {
    const completion = await client().chat.completions.create({ model: 'graph:speaking', messages: [user('say')] });
    expect(completion.choices[0]?.message.content).toBe('I will do it right away.');
    expect(roomsOf(completion)).toHaveLength(1);
  });

  it("gets JSON of the graph's own schema", async () => {
    const completion = await client().chat.completions.create({ model: 'graph:person', messages: [user('Who?')] });
    expect(JSON.parse(completion.choices[0]?.message.content ?? '')).toEqual({ name: 'Mira' });
  });

  it.each([
    [{ tool_choice: 'required' }, 'tool_choice'],
    [{ response_format: { type: 'json_object' } }, 'response_format'],
    [{ model: 'graph:nobody' }, 'model'],
  ] as const)('gets an error that names the field for %j', async (fields, param) => {
    const request = { model: 'graph:house', messages: [user('hello')], ...fields };
    await expect(client().chat.completions.create(request)).rejects.toMatchObject({ param });
  });

  it('ends its turn when it aborts a stream', async () => {
    const control = new AbortController();
    const { signal } = control;
    const messages = [user('slowly')];
    const stream = await client().chat.completions.create({ model: 'graph:house', messages, stream: true }, { signal });
    const read = async (): Promise<void> => {
      for await (const { choices } of stream) if (choices[0]?.delta.content) control.abort();
    };
    await read().catch((error: unknown) => expect(error).toBeInstanceOf(APIUserAbortError));
    for (;;) {
      const page = await fetch(`http://127.0.0.1:${server.port}/metrics`);
      const scraped = parseScrape(await page.text());
      if (scraped.value('turngraph_turns_running') === 0 && scraped.value('turngraph_agents') === 0) break;
    }
    gate.open();
  });
});
