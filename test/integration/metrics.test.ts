import { setTimeout as wait } from 'node:timers/promises';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { WebSocket } from 'ws';
import type { TurngraphServer } from '../../src/server/socket/server.ts';
import { chat, lamp, setLight } from '../helpers/graphs.ts';
import { parseScrape, type Scrape } from '../helpers/prometheus.ts';
import { useServer, TestClient, startTestServer, subprotocols, type TurnResult } from '../helpers/server.ts';
import { readProcess } from '../../src/server/metrics/metrics.ts';
import { Gate } from '../helpers/gate.ts';
import { llamaEngine } from '../../src/inference/llama/engine.ts';
import { holdLoads, oneDayMs } from '../helpers/heldEngine.ts';

const script = [
  {
    match: 'porch',
    answer: '<tool_call>\n{"name": "set_light", "arguments": {"name": "porch", "on": true}}\n</tool_call>',
  },
  { match: 'portal', answer: '<tool_call>\n{"name": "open_portal", "arguments": {}}\n</tool_call>' },
  {
    match: 'quoted',
    answer: "<tool_call>\n{'name': 'set_light', 'arguments': {'name': 'porch', 'on': True}}\n</tool_call>",
  },
  { match: 'slowly', answer: 'word word', gate: new Gate() },
];

const pageOf = (server: TurngraphServer, init: RequestInit = {}, query = ''): Promise<Response> =>
  fetch(`http://127.0.0.1:${server.port}/metrics${query}`, init);

const scrape = async (server: TurngraphServer): Promise<Scrape> => parseScrape(await (await pageOf(server)).text());

/** Scrapes until all gauges of clients and their work are zero. */
async function scrapeWhenIdle(server: TurngraphServer): Promise<Scrape> {
  for (;;) {
    const scraped = await scrape(server);
    if (gauges.every((name) => (scraped.value(name) ?? 0) === 0)) return scraped;
    await wait(20);
  }
}

const gauges = [
  'connections',
  'sessions',
  'agents',
  'turns_running',
  'sequences',
  'slots_busy',
  'slots_waiting',
  'unsent_bytes',
  'slow_readers',
  'model_uses',
].map((name) => `turngraph_${name}`);

const sumOf = (turns: readonly TurnResult[], field: 'tokensPrompt' | 'tokensReused' | 'tokensGenerated'): number =>
  turns.reduce((sum, turn) => sum + turn[field], 0);

/** Checks that the counters of a model are the sums of the turns. */
function expectTokens(scraped: Scrape, turns: readonly TurnResult[], labels: Readonly<Record<string, string>>): void {
  const [prompt, reused] = [sumOf(turns, 'tokensPrompt'), sumOf(turns, 'tokensReused')];
  expect(scraped.value('turngraph_prompt_tokens_total', labels)).toBe(prompt);
  expect(scraped.value('turngraph_reused_tokens_total', labels)).toBe(reused);
  expect(scraped.value('turngraph_evaluated_tokens_total', labels)).toBe(prompt - reused);
  expect(scraped.value('turngraph_generated_tokens_total', labels)).toBe(sumOf(turns, 'tokensGenerated'));
}

describe.each(subprotocols)('the metrics over %s', (subprotocol) => {
  it('are those of TurnComplete, and all gauges are zero when the clients have disconnected', async () => {
    await using server = await startTestServer({ script, resumeGrace: 0 });
    const turns: TurnResult[] = [];
    {
      await using client = await TestClient.connect(server.url, subprotocol);
      const agentId = await client.createAgent(chat());
      turns.push(await client.sendMessage(agentId, 'hello'), await client.sendMessage(agentId, 'hello again'));
      const during = await scrape(server);
      for (const name of ['connections', 'sessions', 'agents', 'sequences', 'model_uses', 'model_loaded'])
        expect([name, during.value(`turngraph_${name}`)]).toEqual([name, 1]);
    }
    const scraped = await scrapeWhenIdle(server);
    const labels = { engine: 'mock', model: '' };
    expectTokens(scraped, turns, labels);
    expect(sumOf(turns, 'tokensReused')).toBeGreaterThan(0);
    expect(scraped.value('turngraph_generations_total', { ...labels, stopped: 'end' })).toBe(2);
    expect(scraped.value('turngraph_generation_duration_seconds_count', labels)).toBe(2);
    expect(scraped.value('turngraph_slot_wait_seconds_count', labels)).toBe(2);
    expect(scraped.value('turngraph_time_to_first_token_seconds_count', labels)).toBe(2);
    expect(scraped.value('turngraph_model_load_duration_seconds_count', labels)).toBe(1);
    expect(scraped.value('turngraph_turns_total', { status: 'SUCCESS' })).toBe(2);
    expect(scraped.value('turngraph_turns_total', { status: 'ERROR' })).toBe(0);
    const total = turns.reduce((sum, { durationMs }) => sum + durationMs, 0) / 1000;
    expect(scraped.value('turngraph_turn_duration_seconds_sum', { status: 'SUCCESS' })).toBeCloseTo(total, 6);
    expect(scraped.value('turngraph_connections_total', { subprotocol })).toBe(1);
    expect(scraped.value('turngraph_connections_closed_total', { code: '1005' })).toBe(1);
    expect(scraped.value('turngraph_agents_created_total')).toBe(1);
  });

  it('count calls by whether their tool is known and whether their text was repaired', async () => {
    await using server = await startTestServer({ script });
    await using client = await TestClient.connect(server.url, subprotocol);
    const agentId = await client.createAgent(lamp({ notify_client: false }));
    for (const text of ['porch', 'portal', 'quoted', 'porch']) await client.sendMessage(agentId, text);
    const scraped = await scrape(server);
    const calls = (known: string, repaired: string): number | undefined =>
      scraped.value('turngraph_tool_calls_total', { known, repaired });
    expect([calls('true', 'false'), calls('true', 'true'), calls('false', 'false'), calls('false', 'true')]).toEqual([
      2, 1, 1, 0,
    ]);
    expect(scraped.value('turngraph_tool_call_issues_total', { code: 'unknown_tool' })).toBe(1);
    expect(scraped.value('turngraph_tool_insights_total')).toBe(0);
  });

  it('count a call that is held back as an insight', async () => {
    await using server = await startTestServer({ script });
    await using client = await TestClient.connect(server.url, subprotocol);
    const strict = {
      ...setLight,
      parameters: [...setLight.parameters, { name: 'hue', type: 'string', required: true }],
    };
    await client.sendMessage(await client.createAgent(lamp({ tools: [strict] })), 'porch');
    const scraped = await scrape(server);
    expect(scraped.value('turngraph_tool_insights_total')).toBe(1);
    expect(scraped.value('turngraph_tool_calls_total')).toBe(0);
  });

  it('count errors by where they arose, warnings, and running and cancelled turns', async () => {
    await using server = await startTestServer({ script });
    await using client = await TestClient.connect(server.url, subprotocol);
    const agentId = await client.createAgent(chat());
    await client.request('sendMessage', { agentId: 99, text: 'hello' });
    const turn = client.send('sendMessage', { agentId, text: 'slowly' });
    await client.waitFor((frame) => frame.requestId === turn && frame.body === 'answerText');
    expect((await scrape(server)).value('turngraph_turns_running')).toBe(1);
    await client.request('sendMessage', { agentId, text: 'hello' });
    await client.request('cancelTurn', { agentId });
    await client.turnOf(turn);
    const looping = {
      start_node: 'a',
      nodes: { a: { type: 'CannedResponse', params: { inline_strings: ['x'] }, exits: { default: 'a' } } },
    };
    const failed = await client.sendMessage(await client.createAgent(looping), 'hello');
    const scraped = await scrape(server);
    const errors = (at: string, code: string): number | undefined =>
      scraped.value('turngraph_errors_total', { at, code });
    expect([errors('request', '3001'), errors('request', '3004'), errors('turn', '4003')]).toEqual([1, 1, 1]);
    expect(scraped.value('turngraph_errors_total', { name: 'AGENT_BUSY' })).toBe(1);
    expect(scraped.value('turngraph_turns_total', { status: 'CANCELLED' })).toBe(1);
    expect(scraped.value('turngraph_turns_total', { status: 'ERROR' })).toBe(1);
    expect(scraped.value('turngraph_turn_warnings_total')).toBe(failed.warnings.length);
    expect(scraped.value('turngraph_generations_total', { stopped: 'aborted' })).toBe(1);
    expect(scraped.value('turngraph_turns_running')).toBe(0);
    const answer = await client.request('createAgent', {
      graphJson: JSON.stringify({ ...looping, nodes: { a: { type: 'Guardrail' } } }),
    });
    const warned = answer.body === 'createAgent' ? answer.createAgent.warnings.length : 0;
    expect(warned).toBeGreaterThan(0);
    expect((await scrape(server)).value('turngraph_agent_warnings_total')).toBeGreaterThanOrEqual(warned);
  });

  it('contain no text of a client, not even an unknown model name', async () => {
    await using server = await startTestServer({ script, resumeGrace: 0 });
    await using client = await TestClient.connect(server.url, subprotocol);
    const secret = 'xyzzy';
    await client.request('createAgent', { graphJson: JSON.stringify(chat({ model_name: secret })) });
    await client.request('loadModel', { modelName: secret });
    await client.request('configureSession', { engine: secret });
    await client.sendMessage(await client.createAgent(chat()), secret);
    client.socket.close(4321, secret);
    await client.closed;
    await scrapeWhenIdle(server);
    const text = await (await pageOf(server)).text();
    expect(text).not.toContain(secret);
    expect(parseScrape(text).value('turngraph_connections_closed_total', { code: 'other' })).toBe(1);
  });

  it('count how often the server waited for a slow client', async () => {
    const sendBuffer = { highWaterMark: 0, lowWaterMark: 1, slowReaderTimeoutMs: oneDayMs };
    await using server = await startTestServer({ script, sendBuffer });
    await using client = await TestClient.connect(server.url, subprotocol);
    await client.sendMessage(await client.createAgent(chat()), 'hello');
    const scraped = await scrape(server);
    expect(scraped.value('turngraph_slow_reader_pauses_total')).toBeGreaterThan(0);
    expect(scraped.value('turngraph_slow_readers')).toBe(0);
  });

  it('count no failed load, and no error, for a client that leaves while its model is loaded', async () => {
    const model = 'turngraph-demo';
    const engines = { 'llama-cpp': holdLoads(llamaEngine(), new Gate()) };
    await using server = await startTestServer({ engines, resumeGrace: 0 });
    const client = await TestClient.connect(server.url, subprotocol, 'llama-cpp');
    const requestId = client.send('createAgent', { graphJson: JSON.stringify(chat({ model_name: model })) });
    await client.waitFor((frame) => frame.requestId === requestId);
    client.socket.terminate();
    const scraped = await scrapeWhenIdle(server);
    expect(scraped.value('turngraph_model_load_failures_total', { engine: 'llama-cpp', model })).toBeUndefined();
    expect(scraped.value('turngraph_errors_total', { at: 'request' })).toBeUndefined();
  });

  it('of a model are those of TurnComplete, and remain after it is unloaded', async () => {
    const model = 'turngraph-demo';
    const labels = { engine: 'llama-cpp', model };
    await using server = await startTestServer({ modelIdle: 0, resumeGrace: 0 });
    const turns: TurnResult[] = [];
    for (let visit = 0; visit < 2; visit++) {
      await using client = await TestClient.connect(server.url, subprotocol, 'llama-cpp');
      const agentId = await client.createAgent(chat({ model_name: model, sampling: { max_tokens: 12 } }));
      turns.push(await client.sendMessage(agentId, 'Hello!'), await client.sendMessage(agentId, 'Tell me a joke.'));
      const during = await scrape(server);
      expect(during.value('turngraph_model_info', { ...labels, backend: 'cpu' })).toBe(1);
      expect(during.value('turngraph_model_context_tokens', labels)).toBe(640);
      expect(during.value('turngraph_model_threads', labels)).toBe(1);
      expect(during.value('turngraph_model_prefill_threads', labels)).toBe(1);
      expect(during.value('turngraph_slots', labels)).toBeGreaterThan(0);
      await client.request('destroyAgent', { agentId });
      while ((await scrape(server)).value('turngraph_model_loaded', labels) === 1) await wait(20);
    }
    const scraped = await scrapeWhenIdle(server);
    expectTokens(scraped, turns, labels);
    expect(scraped.value('turngraph_generations_total', labels)).toBe(4);
    expect(scraped.value('turngraph_model_load_duration_seconds_count', labels)).toBe(2);
    expect(scraped.value('turngraph_decode_tokens_per_second_count', labels)).toBe(4);
    expect(scraped.value('turngraph_slots', labels)).toBeUndefined();
    expect(scraped.value('turngraph_states_saved_total', labels)).toBe(0);
  });
});

describe('the metrics page', () => {
  const locked = useServer({ token: 'open sesame' });
  const open = useServer();

  it('requires the token when one is set', async () => {
    const bearer = (token: string): RequestInit => ({ headers: { authorization: `Bearer ${token}` } });
    expect((await pageOf(locked())).status).toBe(401);
    expect((await pageOf(locked(), bearer('open barley'))).status).toBe(401);
    expect((await pageOf(locked(), bearer('open sesame'))).status).toBe(200);
    expect((await pageOf(locked(), {}, '?token=open%20sesame')).status).toBe(200);
  });

  it('is in the Prometheus text format, and HEAD is answered without a body', async () => {
    const type = 'text/plain; version=0.0.4; charset=utf-8';
    const page = await pageOf(open());
    expect([page.status, page.headers.get('content-type')]).toEqual([200, type]);
    const head = await pageOf(open(), { method: 'HEAD' });
    expect([head.status, head.headers.get('content-type'), await head.text()]).toEqual([200, type, '']);
  });

  it('has metrics of the process whose counters never decrease', async () => {
    const [before, after] = [await scrape(open()), await scrape(open())];
    for (const name of [
      'resident_memory_bytes',
      'heap_used_bytes',
      'heap_size_bytes',
      'start_time_seconds',
      'cpu_seconds_total',
      'resources',
    ])
      expect([name, after.value(`turngraph_process_${name}`)]).toEqual([
        name,
        expect.toSatisfy((value: number) => value > 0),
      ]);
    for (const name of ['cpu_seconds_total', 'event_loop_seconds_total'])
      expect(after.value(`turngraph_process_${name}`)).toBeGreaterThanOrEqual(
        before.value(`turngraph_process_${name}`) ?? 0,
      );
    expect(after.value('turngraph_process_event_loop_lag_seconds')).toBeGreaterThanOrEqual(0);
    expect(after.value('turngraph_info')).toBe(1);
  });

  it('reports the event loop lag in seconds', async () => {
    const now = vi.spyOn(performance, 'now').mockReturnValue(1000);
    onTestFinished(() => now.mockRestore());
    const reading = readProcess();
    now.mockReturnValue(1250);
    const set = vi.fn();
    (await reading)(set);
    expect(set).toHaveBeenCalledWith('turngraph_process_event_loop_lag_seconds', {}, 0.25);
  });

  it('answers many concurrent scrapes completely', async () => {
    await using client = await TestClient.connect(open().url, 'turngraph.v1.json');
    await client.createAgent(chat());
    const scrapes = await Promise.all(Array.from({ length: 20 }, () => scrape(open())));
    expect(scrapes.map((one) => [one.value('turngraph_connections'), one.value('turngraph_model_loaded')])).toEqual(
      scrapes.map(() => [1, 1]),
    );
  });

  it('counts rejected handshakes', async () => {
    const rejected = new WebSocket(locked().url);
    await new Promise((resolve) => rejected.on('error', resolve));
    const page = await pageOf(locked(), {}, '?token=open%20sesame');
    expect(parseScrape(await page.text()).value('turngraph_handshakes_refused_total', { status: '401' })).toBe(1);
  });

  it('of one server does not include another server in the same process', async () => {
    await using one = await startTestServer({ script });
    await using other = await startTestServer({ script });
    await using client = await TestClient.connect(one.url, 'turngraph.v1.proto');
    await client.sendMessage(await client.createAgent(chat()), 'hello');
    const stats = async (server: TurngraphServer): Promise<readonly unknown[]> => {
      const scraped = await scrape(server);
      return ['turns_total', 'agents', 'connections', 'connections_total', 'model_loaded'].map((name) =>
        scraped.value(`turngraph_${name}`),
      );
    };
    expect(await stats(one)).toEqual([1, 1, 1, 1, 1]);
    expect(await stats(other)).toEqual([0, 0, 0, undefined, undefined]);
  });
});
