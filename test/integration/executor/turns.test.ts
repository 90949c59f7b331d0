import { setTimeout as sleep } from 'node:timers/promises';
import { describe, expect, it, vi } from 'vitest';
import {
  executor,
  type AgentHandle,
  type Client,
  type ExecutorOptions,
  type ToolContext,
  type ToolEvent,
} from '../../../src/client/index.ts';
import { codecs } from '../../helpers/depth.ts';
import { eventTexts, openClient, resultsIn, weatherEngine } from '../../helpers/executorGraphs.ts';
import { TcpProxy } from '../../helpers/tcpProxy.mjs';
import { Gate } from '../../helpers/gate.ts';
import { chatmlCall, weather } from '../../helpers/resultGraphs.ts';
import { startTestServer, useServer } from '../../helpers/server.ts';

const engine = weatherEngine();
const server = useServer({ engines: { mock: engine } });

/** A tool that ends when the test says so, or never. */
class HeldTool {
  readonly events: ToolEvent[] = [];
  readonly gate = new Gate();
  readonly signals: AbortSignal[] = [];
  readonly #started = new Gate();

  get started(): Promise<void> | undefined {
    return this.#started.closed;
  }

  executor(options: ExecutorOptions = {}) {
    const run = async (_: unknown, { signal }: ToolContext): Promise<string> => {
      this.signals.push(signal);
      this.#started.open();
      await this.gate.closed;
      return 'sun';
    };
    return executor({ get_weather: { run } }, { ...options, onEvent: (event) => this.events.push(event) });
  }
}

const never = (): Promise<never> => new Promise(() => {});

// A rejection that nothing handles would end the process: Vitest reports it as an error of the run.

describe.each(codecs)('over %s, a tool that runs', (codec) => {
  const open = (): Promise<Client> => openClient(server().url, { codec });

  it.each<[string, (end: { agent: AgentHandle; cancel: () => void; abort: () => void }) => void]>([
    ['`turn.cancel`', ({ cancel }) => cancel()],
    ['the signal of the turn', ({ abort }) => abort()],
    ['the end of its agent', ({ agent }) => void agent.destroy()],
    ['a cleared dialog', ({ agent }) => void agent.clearDialog()],
  ])('is aborted by %s, and the turn ends although the tool does not', async (_, stop) => {
    await using client = await open();
    const agent = await client.createAgent({ graph: weather() });
    const tool = new HeldTool();
    const aborter = new AbortController();
    const turn = agent.send('Paris', { tools: tool.executor(), signal: aborter.signal });
    await tool.started;
    expect(tool.signals[0]?.aborted).toBe(false);
    stop({ agent, cancel: () => turn.cancel(), abort: () => aborter.abort() });
    expect((await turn).status).toBe('CANCELLED');
    expect(tool.signals[0]).toMatchObject({ aborted: true, reason: { name: 'AbortError' } });
    expect(await turn.toolsDone).toMatchObject([
      {
        state: 'failed',
        result: { ok: false, content: expect.stringMatching(/^not finished: the (turn|agent) was/) as string },
      },
    ]);
    expect(eventTexts(tool.events)).toEqual(['started get_weather(Paris)', 'failed get_weather(Paris)']);
  });

  it('is aborted when the connection is closed', async () => {
    const client = await open();
    const agent = await client.createAgent({ graph: weather() });
    const tool = new HeldTool();
    const turn = agent.send('Paris', { tools: tool.executor() });
    await tool.started;
    await client.close();
    await expect(turn.done).rejects.toMatchObject({ code: 1002 });
    expect(tool.signals[0]).toMatchObject({ aborted: true, reason: { code: 1002 } });
    expect(await turn.toolsDone).toMatchObject([{ state: 'failed' }]);
  });

  it('is aborted with the calls that wait for it: they never start', async () => {
    await using client = await open();
    const agent = await client.createAgent({ graph: weather() });
    const tool = new HeldTool();
    const turn = agent.send('three of them', { tools: tool.executor({ concurrency: 1 }) });
    await tool.started;
    // All three have come before the turn waits.
    await vi.waitFor(async () => {
      const calls = [];
      for await (const call of turn.calls) if (calls.push(call) === 3) break;
    }, 60_000);
    turn.cancel();
    await turn;
    expect(eventTexts(tool.events)).toEqual([
      'started get_weather(Paris)',
      'failed get_weather(Paris)',
      'failed get_weather(Oslo)',
      'failed get_weather(Rome)',
    ]);
  });

  it('and never ends holds up no turn: the server waits for it as long as the graph says', async () => {
    await using client = await open();
    const agent = await client.createAgent({ graph: weather({ results_timeout_ms: 50 }) });
    const tool = new HeldTool();
    const turn = agent.send('Paris', { tools: tool.executor() });
    expect(await turn).toMatchObject({ status: 'SUCCESS', text: 'I cannot reach it.' });
    expect(tool.signals[0]).toMatchObject({ aborted: true, reason: { message: 'the turn has ended' } });
    expect(await turn.toolsDone).toMatchObject([{ result: { content: 'not finished: the turn has ended' } }]);
    expect((await agent.send('hello')).text).toBe('It is fine.');
  });

  it.each(['before', 'confirm', 'after'] as const)('waits for no `%s` that never answers', async (hook) => {
    await using client = await open();
    const tools = [
      { name: 'get_weather', description: 'x', consequential: true, parameters: [{ name: 'city', type: 'string' }] },
    ];
    const agent = await client.createAgent({ graph: weather({ results_timeout_ms: 50, tools }) });
    const turn = agent.send('Paris', { tools: executor({ get_weather: { run: () => 'sun' } }, { [hook]: never }) });
    expect((await turn).text).toBe('I cannot reach it.');
    expect(await turn.toolsDone).toMatchObject([{ state: 'failed' }]);
  });

  it.each<[string, ExecutorOptions]>([
    ['a `before` that never answers', { before: ({ nodeName }) => (nodeName === 'detect' ? never() : undefined) }],
    ['a tool that never ends', { concurrency: 1 }],
  ])('of a later node is not held up by %s', async (_, options) => {
    await using fresh = await startTestServer({
      script: [
        { match: '', node: 'detect', answer: chatmlCall('get_weather', { city: 'Paris' }) },
        { match: '', node: 'again', answer: chatmlCall('get_weather', { city: 'Oslo' }) },
        { match: '', answer: 'It is fine.' },
      ],
    });
    await using client = await openClient(fresh.url, { codec });
    const { nodes, ...graph } = weather({ results_timeout_ms: 50 });
    const { detect } = nodes;
    const again = { ...detect, params: { ...detect.params, results_timeout_ms: 5000 } };
    const exits = { ...detect.exits, no_results: 'again' };
    const agent = await client.createAgent({
      graph: { ...graph, nodes: { ...nodes, detect: { ...detect, exits }, again } },
    });
    const run = ({ city }: Readonly<Record<string, unknown>>) => (city === 'Paris' ? never() : 'sun');
    const turn = agent.send('How is it?', { tools: executor({ get_weather: { run } }, options) });
    expect((await turn).text).toBe('It is fine.');
    expect(await turn.toolsDone).toMatchObject([
      { state: 'failed', result: { content: 'not finished: the turn went on without the result' } },
      { state: 'completed', result: { content: 'sun' } },
    ]);
  });

  it('too long for its turn, which goes on: its result is late, and goes with the next message', async () => {
    const speech = new Gate();
    await using slow = await startTestServer({
      script: [
        { match: 'Paris', node: 'detect', answer: chatmlCall('get_weather', { city: 'Paris' }) },
        { match: '', node: 'sorry', answer: 'I cannot reach it.', gate: speech },
        { match: '', answer: 'Hm.' },
      ],
    });
    await using client = await openClient(slow.url, { codec });
    const { nodes, ...graph } = weather({ results_timeout_ms: 50 });
    const sorry = { type: 'Generate', params: { system_prompt: 'Say sorry.' } };
    const agent = await client.createAgent({ graph: { ...graph, nodes: { ...nodes, sorry } } });
    const tool = new HeldTool();
    const turn = agent.send('Paris', { tools: tool.executor() });
    // The node after the wait speaks. Meanwhile the tool ends.
    for await (const piece of turn.text) if (piece) break;
    tool.gate.open();
    await vi.waitFor(
      () => expect(tool.events.map(({ state }) => state)).toEqual(['started', 'completed', 'failed']),
      60_000,
    );
    expect(tool.events[2]).toMatchObject({ state: 'failed', error: { code: 3012 }, result: { content: 'sun' } });
    speech.open();
    expect((await turn).status).toBe('SUCCESS');
    expect(await turn.toolsDone).toMatchObject([{ state: 'failed', result: { content: 'sun' } }]);
    await agent.send('hello');
    const [, { variables = {} } = {}] = JSON.parse(await agent.exportDialog()) as readonly { variables?: object }[];
    expect(variables).toEqual({
      previous_tool_results: '[{"name":"get_weather","arguments":{"city":"Paris"},"ok":true,"content":"sun"}]',
    });
  });

  it('runs once when the connection is cut meanwhile, and its result arrives after the resume', async () => {
    await using proxy = await TcpProxy.start(server().url);
    await using client = await openClient(proxy.url, { codec, reconnect: { firstDelayMs: 0 } });
    const agent = await client.createAgent({ graph: weather() });
    let runs = 0;
    const tools = executor({
      get_weather: {
        run: async ({ city }) => {
          runs++;
          proxy.cut();
          await sleep(5);
          return `snow in ${String(city)}`;
        },
      },
    });
    for (let turn = 1; turn <= 5; turn++) {
      expect(await agent.send('Paris', { tools })).toMatchObject({ text: 'It is fine.', status: 'SUCCESS' });
      expect(resultsIn(engine)).toEqual(['snow in Paris']);
      expect([runs, proxy.cuts]).toEqual([turn, turn]);
    }
  });

  it('runs once, wherever the connection is cut', async () => {
    await using proxy = await TcpProxy.start(server().url);
    await using client = await openClient(proxy.url, { codec, reconnect: { firstDelayMs: 0 } });
    const agent = await client.createAgent({ graph: weather() });
    let runs = 0;
    const tools = executor({ get_weather: { run: async () => (await sleep(0), `sun ${++runs}`) } });
    const before = { ...proxy.bytes };
    await agent.send('three of them', { tools });
    const bytes = {
      toClient: proxy.bytes.toClient - before.toClient,
      toServer: proxy.bytes.toServer - before.toServer,
    };
    runs = 0;
    for (let cut = 0; cut < 30; cut++) {
      const direction = cut % 2 === 0 ? 'toClient' : 'toServer';
      proxy.cutAfter(direction, Math.floor((bytes[direction] * 0.95 * cut) / 30));
      await agent.send('three of them', { tools });
      expect(runs).toBe(3 * (cut + 1));
      expect(resultsIn(engine)).toHaveLength(3);
    }
    expect(proxy.cuts).toBe(30);
  });

  it('is aborted when its session is lost', async () => {
    await using strict = await startTestServer({ resumeGrace: 0, engines: { mock: engine } });
    await using proxy = await TcpProxy.start(strict.url);
    const client = await openClient(proxy.url, { codec, reconnect: { firstDelayMs: 0 } });
    const agent = await client.createAgent({ graph: weather() });
    const tool = new HeldTool();
    const turn = agent.send('Paris', { tools: tool.executor() });
    await tool.started;
    proxy.cut();
    await expect(turn.done).rejects.toMatchObject({ code: 1002 });
    expect(tool.signals[0]?.aborted).toBe(true);
    expect(await turn.toolsDone).toMatchObject([{ state: 'failed' }]);
    await client.close();
  });
});
