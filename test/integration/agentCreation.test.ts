import { setTimeout as wait } from 'node:timers/promises';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { defineNode, liveParams } from '../../src/index.ts';
import { TestClient, startTestServer, subprotocols } from '../helpers/server.ts';
import { RequestDispatcher } from '../../src/server/session/dispatcher.ts';
import { Gate } from '../helpers/gate.ts';
import { oneDayMs } from '../helpers/heldEngine.ts';

/** The node waits for the gate of its word when it is created or changed. */
let gates: Readonly<Record<string, Gate>> = {};
beforeEach(() => void (gates = { old: new Gate(), new: new Gate() }));

const late = defineNode({
  type: 'Late',
  summary: 'Sends its word. Creating and changing it wait at a gate.',
  params: { type: 'object', properties: { word: { type: 'string', default: 'old', live: true } } },
  exits: ['default'],
  async create(params, supplies) {
    // While this waits for the model, later requests are handled.
    await supplies.model();
    const settings = await liveParams(params, async ({ word }) => {
      await gates[word]?.closed;
      return word;
    });
    return {
      async run(turn) {
        turn.say(`The ${settings.current} word. `, 'delta');
        return 'default';
      },
      change: settings.change,
    };
  },
});

const graph = {
  start_node: 'late',
  nodes: { late: { type: 'Late', exits: { default: 'answer' } }, answer: { type: 'Generate' } },
};

describe.each(subprotocols)('over %s, requests to an agent that is still being created', (subprotocol) => {
  const startServer = () =>
    startTestServer({
      extension: { nodeTypes: [late] },
      script: [{ match: 'before a word', answer: 'late', delay_ms: oneDayMs }],
    });
  afterEach(() => vi.restoreAllMocks());

  /** Waits until the server has received `count` more requests. */
  function countRequests(): (count: number) => Promise<void> {
    const receive = vi.spyOn(RequestDispatcher.prototype, 'receive');
    return async (count) => {
      while (receive.mock.calls.length < count) await wait(5);
    };
  }
  const requestAgent = (client: TestClient): number => client.send('createAgent', { graphJson: JSON.stringify(graph) });
  const hello = { agentId: 1, text: 'hello' };
  const newWord = { agentId: 1, nodeName: 'late', paramsJson: '{"word": "new"}' };

  it('take effect in their order, as for an agent that exists', async () => {
    await using server = await startServer();
    await using client = await TestClient.connect(server.url, subprotocol);
    const receivedRequests = countRequests();
    const requestIds = [
      requestAgent(client),
      client.send('sendMessage', { agentId: 1, text: 'before a word' }),
      client.send('clearDialog', { agentId: 1 }),
      client.send('sendMessage', hello),
    ] as const;
    await receivedRequests(requestIds.length);
    gates['old']?.open();
    expect(await client.turnOf(requestIds[3])).toMatchObject({
      status: 'SUCCESS',
      text: 'The old word. You said: hello',
    });
    expect(await client.turnOf(requestIds[1])).toMatchObject({ status: 'CANCELLED' });
    const final = client.received.filter(({ body }) => ['createAgent', 'turnComplete', 'ack'].includes(body));
    expect(final.map(({ requestId }) => requestId)).toEqual(requestIds);
  });

  it('wait for an earlier request that is still running', async () => {
    await using server = await startServer();
    await using client = await TestClient.connect(server.url, subprotocol);
    const receivedRequests = countRequests();
    const creation = requestAgent(client);
    client.send('changeParams', newWord);
    const early = client.send('sendMessage', hello);
    await receivedRequests(3);
    gates['old']?.open();
    await client.finalResponse(creation);
    // A message that does not wait for the change would be answered before this.
    await client.request('listModels');
    gates['new']?.open();
    expect(await client.turnOf(early)).toMatchObject({ text: 'The new word. You said: hello' });
  });

  it('take effect before those sent after its creation', async () => {
    await using server = await startServer();
    await using client = await TestClient.connect(server.url, subprotocol);
    const receivedRequests = countRequests();
    const creation = requestAgent(client);
    client.send('changeParams', newWord);
    await receivedRequests(2);
    gates['old']?.open();
    await client.finalResponse(creation);
    const later = client.send('sendMessage', hello);
    await client.request('listModels');
    gates['new']?.open();
    expect(await client.turnOf(later)).toMatchObject({ text: 'The new word. You said: hello' });
  });
});
