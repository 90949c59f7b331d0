import { setTimeout as wait } from 'node:timers/promises';
import { pino } from 'pino';
import { describe, expect, it } from 'vitest';
import { chat } from '../helpers/graphs.ts';
import { parseScrape } from '../helpers/prometheus.ts';
import { errorOf, TestClient, startTestServer, oneSubprotocol } from '../helpers/server.ts';
import { slowLoadMs } from '../../src/inference/contract/pace.ts';
import { llamaEngine } from '../../src/inference/llama/engine.ts';
import type { TurngraphServer } from '../../src/server/socket/server.ts';
import { ProcessEngine } from '../../src/inference/process/engine.ts';
import { defaultWatchdogLimits } from '../../src/inference/process/watchdog.ts';
import { Gate } from '../helpers/gate.ts';
import { holdLoads } from '../helpers/heldEngine.ts';
import { whenEnded } from '../helpers/runningProcesses.ts';
import { shortenTimers } from '../helpers/shortTimers.ts';

const model = 'turngraph-demo';
const graph = chat({ model_name: model });

/** Starts a server whose loads wait until the gate is open. */
const startHeldServer = (gate: Gate): Promise<TurngraphServer> =>
  startTestServer({ engines: { 'llama-cpp': holdLoads(llamaEngine(), gate) } });

describe.each(oneSubprotocol)('a model that is not in memory, over %s', (subprotocol) => {
  it('is loaded once for fifty agents requested concurrently, and each receives the progress', async () => {
    const gate = new Gate();
    await using server = await startHeldServer(gate);
    const clients = await Promise.all(
      Array.from({ length: 10 }, () => TestClient.connect(server.url, subprotocol, 'llama-cpp')),
    );
    const requests = clients.flatMap((client) =>
      Array.from({ length: 5 }, () => ({
        client,
        requestId: client.send('createAgent', { graphJson: JSON.stringify(graph) }),
      })),
    );
    const metrics = async () => parseScrape(await (await fetch(`${server.url.replace('ws', 'http')}/metrics`)).text());
    while ((await metrics()).value('turngraph_model_uses', { model }) !== 50) await wait(10);
    gate.open();
    const answers = await Promise.all(requests.map(({ client, requestId }) => client.finalResponse(requestId)));
    expect(new Set(answers.map(({ body }) => body))).toEqual(new Set(['createAgent']));
    for (const { received } of clients) {
      const progress = received.flatMap((frame) => (frame.body === 'modelProgress' ? [frame.modelProgress] : []));
      expect(progress.at(-1)).toMatchObject({ modelName: model, phase: 'LOADING', fraction: 1 });
    }
    const scraped = await metrics();
    expect(scraped.value('turngraph_model_load_duration_seconds_count', { model })).toBe(1);
    expect(scraped.value('turngraph_model_uses', { model })).toBe(50);
    await Promise.all(clients.map((client) => client[Symbol.asyncDispose]()));
  });

  it.each([
    ['twelve agents of one session', 'createAgent', { graphJson: JSON.stringify(graph) }],
    ['twelve loadModel requests', 'loadModel', { modelName: model }],
  ] as const)('can be awaited by %s without a warning of too many listeners', async (_, body, fields) => {
    const warnings: Error[] = [];
    const onWarning = (warning: Error): void => void warnings.push(warning);
    process.on('warning', onWarning);
    try {
      await using server = await startTestServer({});
      await using client = await TestClient.connect(server.url, subprotocol, 'llama-cpp');
      const requests = Array.from({ length: 12 }, () => client.send(body, fields));
      const answers = await Promise.all(requests.map((requestId) => client.finalResponse(requestId)));
      expect(answers.map((answer) => answer.body)).toEqual(requests.map(() => body));
      expect(warnings).toEqual([]);
    } finally {
      process.off('warning', onWarning);
    }
  });

  it('delays only the agent that needs it', async () => {
    const gate = new Gate();
    await using server = await startHeldServer(gate);
    await using client = await TestClient.connect(server.url, subprotocol, 'llama-cpp');
    const canned = { start_node: 'hi', nodes: { hi: { type: 'CannedResponse', params: { inline_strings: ['Hi.'] } } } };
    const quick = await client.createAgent(canned);
    const creation = client.send('createAgent', { graphJson: JSON.stringify(graph) });
    const { text } = await client.sendMessage(quick, 'Hello');
    expect(text).toBe('Hi.');
    expect(client.received.some(({ requestId, body }) => requestId === creation && body === 'createAgent')).toBe(false);
    // A message to an agent that is being created waits for it, and does not delay a cancel.
    const early = client.send('sendMessage', { agentId: quick + 1, text: 'How are you today?' });
    const cancel = client.send('cancelTurn', { agentId: quick });
    await client.finalResponse(cancel);
    gate.open();
    expect(await client.finalResponse(creation)).toMatchObject({ createAgent: { agentId: quick + 1 } });
    expect(await client.turnOf(early)).toMatchObject({ status: 'SUCCESS' });
    const answeredIds = client.received.flatMap(({ requestId, body }) => (body === 'modelProgress' ? [] : [requestId]));
    expect(answeredIds.indexOf(cancel)).toBeLessThan(answeredIds.indexOf(creation));
  });

  it('is not loaded for a client that has disconnected, but for the next one', async () => {
    await using server = await startTestServer({ resumeGrace: 0 });
    const dropped = await TestClient.connect(server.url, subprotocol, 'llama-cpp');
    dropped.send('createAgent', { graphJson: JSON.stringify(graph) });
    await dropped.waitFor(({ body }) => body === 'modelProgress');
    dropped.socket.terminate();
    await using client = await TestClient.connect(server.url, subprotocol, 'llama-cpp');
    const agentId = await client.createAgent(graph);
    expect((await client.sendMessage(agentId, 'How are you today?')).status).toBe('SUCCESS');
    const listed = await client.request('listModels');
    const models = listed.body === 'listModels' ? listed.listModels.models : [];
    expect(models.find(({ name }) => name === model)).toMatchObject({ status: 'LOADED', agents: 1 });
  });

  it('is loaded to stay also when the client has disconnected', async () => {
    await using server = await startTestServer({});
    const dropped = await TestClient.connect(server.url, subprotocol, 'llama-cpp');
    dropped.send('loadModel', { modelName: model });
    await dropped.waitFor(({ body }) => body === 'modelProgress');
    dropped.socket.terminate();
    await using client = await TestClient.connect(server.url, subprotocol, 'llama-cpp');
    const listed = async () => {
      const answer = await client.request('listModels');
      return answer.body === 'listModels' ? answer.listModels.models.find(({ name }) => name === model) : undefined;
    };
    while ((await listed())?.status !== 'LOADED') await wait(10);
    expect(await listed()).toMatchObject({ pinned: true, agents: 0 });
  });

  it('is heard of by who waits for it within seconds, although its engine process is stopped', async () => {
    shortenTimers(slowLoadMs);
    const pids: number[] = [];
    const onStart = (pid: number): void => void (pids.push(pid) && process.kill(pid, 'SIGSTOP'));
    const resume = (): void => void process.kill(pids.at(-1) ?? 0, 'SIGCONT');
    // A stopped process is ended later than by default: a busy machine takes long to start one.
    const watchdog = { ...defaultWatchdogLimits, minHangMs: 60_000 };
    const engine = new ProcessEngine({ onStart, watchdog });
    await using server = await startTestServer({ engines: { 'llama-cpp': engine } });
    await using client = await TestClient.connect(server.url, subprotocol, 'llama-cpp');
    /** Waits until so many processes were stopped, and forgets what was received before. */
    const untilStopped = async (count: number): Promise<void> => {
      while (pids.length < count) await wait(10);
      client.received.length = 0;
    };
    const creation = client.send('createAgent', { graphJson: JSON.stringify(graph) });
    await untilStopped(1);
    expect(await client.receive('modelProgress')).toMatchObject({ modelName: model, phase: 'LOADING', fraction: 0 });
    resume();
    expect(await client.finalResponse(creation)).toMatchObject({ createAgent: { agentId: 1 } });
    process.kill(pids.at(-1) ?? 0, 'SIGKILL');
    await whenEnded(pids.at(-1) ?? 0);
    const message = client.send('sendMessage', { agentId: 1, text: 'How are you today?' });
    await untilStopped(2);
    const { eventType, payloadJson } = await client.receive('nodeEvent');
    expect(eventType).toBe('model_loading');
    expect(JSON.parse(payloadJson)).toEqual({ model, message: 'loading takes longer than usual' });
    resume();
    expect(await client.turnOf(message)).toMatchObject({ status: 'SUCCESS' });
  });

  it('is given up when its engine process does nothing for --load-timeout', async () => {
    const stop = (line: string): void => {
      const { pid, msg } = JSON.parse(line) as { readonly pid: number; readonly msg: string };
      if (msg === 'an engine process is started') process.kill(pid, 'SIGSTOP');
    };
    const log = pino({ level: 'debug', base: null }, { write: stop });
    await using server = await startTestServer({ engineProcess: 'child', loadTimeout: 2, log });
    await using client = await TestClient.connect(server.url, subprotocol, 'llama-cpp');
    const answer = await client.request('createAgent', { graphJson: JSON.stringify(graph) });
    expect(errorOf(answer).message).toContain('did not answer for 2 s');
  });
});
