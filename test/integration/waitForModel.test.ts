import { pino } from 'pino';
import { beforeEach, describe, expect, it } from 'vitest';
import type { Engine } from '../../src/inference/contract/engine.ts';
import { mockEngine } from '../../src/inference/mock/engine.ts';
import { Gate } from '../helpers/gate.ts';
import { chat } from '../helpers/graphs.ts';
import { holdCounts, holdLoads } from '../helpers/heldEngine.ts';
import { untilGauge } from '../helpers/resume.ts';
import { startTestServer, subprotocols, TestClient, useServer } from '../helpers/server.ts';

const started = new Gate();
const server = useServer({ engines: { mock: holdCounts(mockEngine(), started) } });
const brief = useServer({ turnTimeout: 1, engines: { mock: holdCounts(mockEngine(), started) } });
beforeEach(() => started.close());

describe.each(subprotocols)('a turn whose model is being started again (%s)', (subprotocol) => {
  it('ends when it is cancelled, and the next one waits for the model', async () => {
    await using client = await TestClient.connect(server().url, subprotocol);
    const agentId = await client.createAgent(chat());
    const waiting = client.send('sendMessage', { agentId, text: 'hello' });
    expect(await client.request('cancelTurn', { agentId })).toMatchObject({ body: 'ack' });
    expect(await client.turnOf(waiting)).toMatchObject({ status: 'CANCELLED', error: null });
    const next = client.send('sendMessage', { agentId, text: 'hello again' });
    started.open();
    expect(await client.turnOf(next)).toMatchObject({ status: 'SUCCESS', text: 'You said: hello again' });
  });

  it('ends after its time limit', async () => {
    await using client = await TestClient.connect(brief().url, subprotocol);
    const agentId = await client.createAgent(chat());
    const waiting = client.send('sendMessage', { agentId, text: 'hello' });
    expect(await client.turnOf(waiting)).toMatchObject({ status: 'ERROR', error: { name: 'INFERENCE_TIMEOUT' } });
  });

  it('ends when its agent is destroyed', async () => {
    await using client = await TestClient.connect(server().url, subprotocol);
    const agentId = await client.createAgent(chat());
    const waiting = client.send('sendMessage', { agentId, text: 'hello' });
    expect(await client.request('destroyAgent', { agentId })).toMatchObject({ body: 'ack' });
    expect(await client.turnOf(waiting)).toMatchObject({ status: 'CANCELLED' });
  });
});

describe.each(subprotocols)('an agent that is being created (%s)', (subprotocol) => {
  const gate = new Gate();

  /** Creates an agent that waits for its model, and ends that. Returns its answer, if it has one, and the log. */
  async function endCreation(mock: Engine, end: (client: TestClient) => void) {
    gate.close();
    const lines: string[] = [];
    const log = pino({ level: 'info' }, { write: (line: string) => void lines.push(line) });
    await using server = await startTestServer({ engines: { mock }, resumeGrace: 0, log });
    await using client = await TestClient.connect(server.url, subprotocol);
    const creation = client.send('createAgent', { graphJson: JSON.stringify(chat()), warmUp: true });
    await client.request('listModels');
    end(client);
    const answer = await client.finalResponse(creation).catch(() => undefined);
    if (!answer) await untilGauge(server, 'sessions', 0);
    gate.open();
    await server[Symbol.asyncDispose]();
    return { answer, lines };
  }

  it.each([
    ['warms up', () => holdCounts(mockEngine(), gate)],
    ['loads its model', () => holdLoads(mockEngine(), gate)],
  ])('logs no error when its session ends while it %s', async (_, open) => {
    const { lines } = await endCreation(open(), (client) => client.socket.terminate());
    expect(lines.filter((line) => line.includes('internal error'))).toEqual([]);
  });

  it('is answered with AGENT_ALREADY_DESTROYED when it is destroyed while it warms up', async () => {
    const engine = holdCounts(mockEngine(), gate);
    const { lines, answer } = await endCreation(engine, (client) => client.send('destroyAgent', { agentId: 1 }));
    expect(answer).toMatchObject({ error: { name: 'AGENT_ALREADY_DESTROYED' } });
    expect(lines.filter((line) => line.includes('internal error'))).toEqual([]);
  });
});
