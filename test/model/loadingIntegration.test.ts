import { setTimeout as wait } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import { chat } from '../helpers/graphs.ts';
import { parseScrape } from '../helpers/prometheus.ts';
import { TestClient, startTestServer, subprotocols } from '../helpers/server.ts';
import { llamaEngine } from '../../src/engine/llama/engine.ts';
import type { TurngraphServer } from '../../src/server/server.ts';
import { Gate } from '../helpers/gate.ts';
import { holdLoads } from '../helpers/heldEngine.ts';

const model = 'turngraph-demo';
const graph = chat({ model_name: model });

/** A server that loads nothing until the gate is open. */
const holding = (gate: Gate): Promise<TurngraphServer> =>
  startTestServer({ engines: { 'llama-cpp': holdLoads(llamaEngine(), gate) } });

describe.each(subprotocols)('a model that is not in memory, over %s', (subprotocol) => {
  it('is loaded once for fifty agents that are asked for at once, and each hears how far it is', async () => {
    const gate = new Gate();
    await using server = await holding(gate);
    const clients = await Promise.all(
      Array.from({ length: 10 }, () => TestClient.connect(server.url, subprotocol, 'llama-cpp')),
    );
    const asked = clients.flatMap((client) =>
      Array.from({ length: 5 }, () => ({
        client,
        requestId: client.send('createAgent', { graphJson: JSON.stringify(graph) }),
      })),
    );
    const metrics = async () => parseScrape(await (await fetch(`${server.url.replace('ws', 'http')}/metrics`)).text());
    while ((await metrics()).value('turngraph_model_uses', { model }) !== 50) await wait(10);
    gate.open();
    const answers = await Promise.all(asked.map(({ client, requestId }) => client.finalResponse(requestId)));
    expect(new Set(answers.map(({ body }) => body))).toEqual(new Set(['createAgent']));
    for (const { received: heard } of clients) {
      const progress = heard.flatMap((frame) => (frame.body === 'modelProgress' ? [frame.modelProgress] : []));
      expect(progress.at(-1)).toMatchObject({ modelName: model, phase: 'LOADING', fraction: 1 });
    }
    const scraped = await metrics();
    expect(scraped.value('turngraph_model_load_duration_seconds_count', { model })).toBe(1);
    expect(scraped.value('turngraph_model_uses', { model })).toBe(50);
    await Promise.all(clients.map((client) => client[Symbol.asyncDispose]()));
  });

  it.each([
    ['twelve agents of one session', 'createAgent', { graphJson: JSON.stringify(graph) }],
    ['twelve who want it to stay', 'loadModel', { modelName: model }],
  ] as const)('is waited for by %s, and Node sees no leak in that', async (_, body, fields) => {
    const warnings: Error[] = [];
    const hear = (warning: Error): void => void warnings.push(warning);
    process.on('warning', hear);
    try {
      await using server = await startTestServer({});
      await using client = await TestClient.connect(server.url, subprotocol, 'llama-cpp');
      const asked = Array.from({ length: 12 }, () => client.send(body, fields));
      const answers = await Promise.all(asked.map((requestId) => client.finalResponse(requestId)));
      expect(answers.map((answer) => answer.body)).toEqual(asked.map(() => body));
      expect(warnings).toEqual([]);
    } finally {
      process.off('warning', hear);
    }
  });

  it('keeps nobody waiting but the agent that needs it', async () => {
    const gate = new Gate();
    await using server = await holding(gate);
    await using client = await TestClient.connect(server.url, subprotocol, 'llama-cpp');
    const canned = { start_node: 'hi', nodes: { hi: { type: 'CannedResponse', params: { inline_strings: ['Hi.'] } } } };
    const quick = await client.createAgent(canned);
    const making = client.send('createAgent', { graphJson: JSON.stringify(graph) });
    const { text } = await client.sendMessage(quick, 'Hello');
    expect(text).toBe('Hi.');
    expect(client.received.some(({ requestId, body }) => requestId === making && body === 'createAgent')).toBe(false);
    // Who speaks to it before it is there is heard when it is, and does not hold up a cancel.
    const early = client.send('sendMessage', { agentId: quick + 1, text: 'How are you today?' });
    const cancelling = client.send('cancelTurn', { agentId: quick });
    await client.finalResponse(cancelling);
    gate.open();
    expect(await client.finalResponse(making)).toMatchObject({ createAgent: { agentId: quick + 1 } });
    expect(await client.turnOf(early)).toMatchObject({ status: 'SUCCESS' });
    const answered = client.received.flatMap(({ requestId, body }) => (body === 'modelProgress' ? [] : [requestId]));
    expect(answered.indexOf(cancelling)).toBeLessThan(answered.indexOf(making));
  });

  it('is not loaded for a client that has gone, and is for the next', async () => {
    await using server = await startTestServer({});
    const gone = await TestClient.connect(server.url, subprotocol, 'llama-cpp');
    gone.send('createAgent', { graphJson: JSON.stringify(graph) });
    await gone.waitFor(({ body }) => body === 'modelProgress');
    gone.socket.terminate();
    await using client = await TestClient.connect(server.url, subprotocol, 'llama-cpp');
    const agentId = await client.createAgent(graph);
    expect((await client.sendMessage(agentId, 'How are you today?')).status).toBe('SUCCESS');
    const listed = await client.request('listModels');
    const models = listed.body === 'listModels' ? listed.listModels.models : [];
    expect(models.find(({ name }) => name === model)).toMatchObject({ status: 'LOADED', agents: 1 });
  });

  it('is loaded also for a client that has gone, where it is to stay', async () => {
    await using server = await startTestServer({});
    const gone = await TestClient.connect(server.url, subprotocol, 'llama-cpp');
    gone.send('loadModel', { modelName: model });
    await gone.waitFor(({ body }) => body === 'modelProgress');
    gone.socket.terminate();
    await using client = await TestClient.connect(server.url, subprotocol, 'llama-cpp');
    const listed = async () => {
      const answer = await client.request('listModels');
      return answer.body === 'listModels' ? answer.listModels.models.find(({ name }) => name === model) : undefined;
    };
    while ((await listed())?.status !== 'LOADED') await wait(10);
    expect(await listed()).toMatchObject({ pinned: true, agents: 0 });
  });
});
