import { setTimeout as wait } from 'node:timers/promises';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { defineNode, liveParams } from '../../src/index.ts';
import { TestClient, startTestServer, subprotocols } from '../helpers/server.ts';
import { RequestDispatcher } from '../../src/session/dispatcher.ts';
import { Gate } from '../helpers/gate.ts';
import { oneDayMs } from '../helpers/heldEngine.ts';

/** What the node waits for before it has a word. */
let gates: Readonly<Record<string, Gate>> = {};
beforeEach(() => void (gates = { old: new Gate(), new: new Gate() }));

const late = defineNode({
  type: 'Late',
  summary: 'Says its word; takes its time to be made and to be changed.',
  params: { type: 'object', properties: { word: { type: 'string', default: 'old', live: true } } },
  exits: ['default'],
  async create(params, supplies) {
    // Who waits for a model lets later requests go on.
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

describe.each(subprotocols)('over %s, requests to an agent that is still being made', (subprotocol) => {
  const serving = () =>
    startTestServer({
      extension: { nodeTypes: [late] },
      script: [{ match: 'before a word', answer: 'late', delay_ms: oneDayMs }],
    });
  afterEach(() => vi.restoreAllMocks());

  /** Waits until the server has so many requests from here on. */
  function arrived(): (count: number) => Promise<void> {
    const receive = vi.spyOn(RequestDispatcher.prototype, 'receive');
    return async (count) => {
      while (receive.mock.calls.length < count) await wait(5);
    };
  }
  const making = (client: TestClient): number => client.send('createAgent', { graphJson: JSON.stringify(graph) });
  const hello = { agentId: 1, text: 'hello' };
  const newWord = { agentId: 1, nodeName: 'late', paramsJson: '{"word": "new"}' };

  it('take effect in their order, as they do when it is there', async () => {
    await using server = await serving();
    await using client = await TestClient.connect(server.url, subprotocol);
    const have = arrived();
    const asked = [
      making(client),
      client.send('sendMessage', { agentId: 1, text: 'before a word' }),
      client.send('clearDialog', { agentId: 1 }),
      client.send('sendMessage', hello),
    ] as const;
    await have(asked.length);
    gates['old']?.open();
    expect(await client.turnOf(asked[3])).toMatchObject({ status: 'SUCCESS', text: 'The old word. You said: hello' });
    expect(await client.turnOf(asked[1])).toMatchObject({ status: 'CANCELLED' });
    const final = client.received.filter(({ body }) => ['createAgent', 'turnComplete', 'ack'].includes(body));
    expect(final.map(({ requestId }) => requestId)).toEqual(asked);
  });

  it('wait for one before them that takes its time', async () => {
    await using server = await serving();
    await using client = await TestClient.connect(server.url, subprotocol);
    const have = arrived();
    const made = making(client);
    client.send('changeParams', newWord);
    const early = client.send('sendMessage', hello);
    await have(3);
    gates['old']?.open();
    await client.finalResponse(made);
    // Who does not wait for the change would be answered before this.
    await client.request('listModels');
    gates['new']?.open();
    expect(await client.turnOf(early)).toMatchObject({ text: 'The new word. You said: hello' });
  });

  it('go before those that come when it is there', async () => {
    await using server = await serving();
    await using client = await TestClient.connect(server.url, subprotocol);
    const have = arrived();
    const made = making(client);
    client.send('changeParams', newWord);
    await have(2);
    gates['old']?.open();
    await client.finalResponse(made);
    const later = client.send('sendMessage', hello);
    await client.request('listModels');
    gates['new']?.open();
    expect(await client.turnOf(later)).toMatchObject({ text: 'The new word. You said: hello' });
  });
});
