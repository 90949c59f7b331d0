import { beforeEach, describe, expect, it } from 'vitest';
import { mockEngine } from '../../src/inference/mock/engine.ts';
import { Gate } from '../helpers/gate.ts';
import { chat } from '../helpers/graphs.ts';
import { holdCounts } from '../helpers/heldEngine.ts';
import { subprotocols, TestClient, useServer } from '../helpers/server.ts';

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
