import { createOpenAICompatible } from '@ai-sdk/openai-compatible';
import { APICallError, generateObject, generateText, stepCountIs, streamText, tool, type ToolChoice } from 'ai';
import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { Gate } from '../../helpers/gate.ts';
import { heldEngine } from '../../helpers/heldEngine.ts';
import { chatmlCall } from '../../helpers/resultGraphs.ts';
import { useServer } from '../../helpers/server.ts';

const lamp = (room: string): string => chatmlCall('set_lamp', { room });
const gate = new Gate();
const engine = heldEngine([
  { match: 'both', nth: 1, answer: `At once, my friend.\n${lamp('porch')}\n${lamp('hall')}`, chunk: 4 },
  { match: 'lamp', nth: 1, answer: lamp('porch') },
  { match: 'mood', answer: '{"mood": "glad"}' },
  { match: 'slowly', answer: 'One two three four five.', gate, piecesBeforeGate: 2 },
  { match: '', answer: 'Good evening, traveller.', chunk: 4 },
]);
const server = useServer({ openai: true, engines: { 'llama-cpp': engine } });

const provider = createOpenAICompatible({
  name: 'turngraph',
  baseURL: 'http://unused',
  includeUsage: true,
  supportsStructuredOutputs: true,
  fetch: (input, init) => fetch(String(input).replace('http://unused', `http://127.0.0.1:${server().port}/v1`), init),
});
const model = provider('turngraph-demo');
const inputSchema = z.object({ room: z.string() });
const set_lamp = tool({ description: 'Lights a lamp.', inputSchema, execute: ({ room }) => `${room}: lit` });
const tools = { set_lamp };

describe('the ai package', () => {
  it('streams text over two steps with a call', async () => {
    const result = streamText({ model, prompt: 'lamp', tools, stopWhen: stepCountIs(2) });
    const pieces: string[] = [];
    for await (const piece of result.textStream) pieces.push(piece);
    const [first, second] = await result.steps;
    expect(first?.toolResults.map(({ output }) => output)).toEqual(['porch: lit']);
    expect([first?.finishReason, second?.finishReason]).toEqual(['tool-calls', 'stop']);
    expect(pieces.join('')).toBe('Good evening, traveller.');
    expect(pieces.length).toBeGreaterThan(2);
    expect((await result.totalUsage).outputTokens).toBeGreaterThan(0);
  });

  it('gets several calls after a text', async () => {
    const result = streamText({ model, prompt: 'both', tools });
    expect(await result.text).toBe('At once, my friend.');
    expect((await result.toolResults).map(({ output }) => output)).toEqual(['porch: lit', 'hall: lit']);
  });

  it.each<ToolChoice<typeof tools>>(['required', { type: 'tool', toolName: 'set_lamp' }])(
    'gets a call with toolChoice %j',
    async (toolChoice) => {
      const { toolCalls } = await generateText({ model, prompt: 'lamp', tools, toolChoice });
      expect(toolCalls).toMatchObject([{ toolName: 'set_lamp', input: { room: 'porch' } }]);
    },
  );

  it('gets a text with toolChoice none', async () => {
    const { text, toolCalls } = await generateText({ model, prompt: 'hello', tools, toolChoice: 'none' });
    expect([text, toolCalls]).toEqual(['Good evening, traveller.', []]);
  });

  it('generates an object', async () => {
    const { object } = await generateObject({ model, prompt: 'mood', schema: z.object({ mood: z.string() }) });
    expect(object).toEqual({ mood: 'glad' });
  });

  it('streams a graph, and lets it be continued', async () => {
    const result = streamText({
      model: provider('graph:chat'),
      messages: [
        { role: 'user', content: 'hello' },
        { role: 'assistant', content: 'Welcome.' },
        { role: 'user', content: 'A room, please.' },
      ],
    });
    const pieces: string[] = [];
    for await (const piece of result.textStream) pieces.push(piece);
    expect(pieces.join('')).toBe('Good evening, traveller.');
    expect(pieces.length).toBeGreaterThan(1);
  });

  it('gets errors with their status and message', async () => {
    const failed = generateText({ model: provider('nobody'), prompt: 'hello', maxRetries: 0 });
    await expect(failed).rejects.toSatisfy(
      (error) => APICallError.isInstance(error) && error.statusCode === 404 && /nobody/.test(error.message),
    );
  });

  it('aborts a stream, after which another one is answered', async () => {
    const control = new AbortController();
    const { textStream } = streamText({ model, prompt: 'slowly', abortSignal: control.signal });
    const pieces: string[] = [];
    for await (const piece of textStream) {
      pieces.push(piece);
      control.abort();
    }
    // The second piece may have come together with the first.
    expect(['One ', 'One two ']).toContain(pieces.join(''));
    gate.open();
    expect((await generateText({ model, prompt: 'hello' })).text).toBe('Good evening, traveller.');
  });
});
