import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { ThreadCap } from '../../src/inference/llama/threads/batchThreads.ts';
import { Gate } from '../helpers/gate.ts';
import { chat } from '../helpers/graphs.ts';
import { heldEngine, watchPaces } from '../helpers/heldEngine.ts';
import { startTestServer, subprotocols, TestClient } from '../helpers/server.ts';
import { shortenTimers } from '../helpers/shortTimers.ts';

const targetMs = 16.7;
const [late, inTime] = [25, 16];

beforeEach(() => void vi.useFakeTimers({ toFake: ['performance'] }));
afterEach(() => void vi.useRealTimers());

/** A server whose sessions speak until a gate opens, and the paces with which they do, in the order of their messages. */
async function startSpeaking() {
  const gate = new Gate();
  const { engine, paces } = watchPaces(heldEngine([{ answer: 'Once upon a time.', gate }]));
  const server = await startTestServer({ engines: { mock: engine } });
  const speak = async (client: TestClient): Promise<number> => {
    const turn = client.send('sendMessage', { agentId: await client.createAgent(chat()), text: 'story' });
    await client.waitFor(({ requestId, body }) => requestId === turn && body === 'answerText');
    return turn;
  };
  /** The threads of a batch with tokens of these sessions, on a machine where it would have eight. */
  const threadsOf = (...sessions: readonly number[]): number => {
    const cap = new ThreadCap();
    for (const session of sessions) cap.enter({}, paces[session]);
    return cap.limit(8);
  };
  return { server, gate, speak, threadsOf };
}

/** A second of a game has passed. */
async function play(client: TestClient, ms: number): Promise<void> {
  vi.advanceTimersByTime(1000);
  expect((await client.request('reportFrame', { ms, targetMs })).body).toBe('ack');
}

describe.each(subprotocols)('frame times over %s', (subprotocol) => {
  it('take threads from a session that speaks while frames are late, and give them back', async () => {
    const { server, gate, speak, threadsOf } = await startSpeaking();
    await using _ = server;
    await using client = await TestClient.connect(server.url, subprotocol);
    const turn = await speak(client);
    expect(threadsOf(0)).toBe(8);
    const seen: number[] = [];
    for (const ms of [late, late, late, inTime, inTime, inTime, late, inTime]) {
      await play(client, ms);
      seen.push(threadsOf(0));
    }
    expect(seen).toEqual([4, 2, 1, 1, 1, 2, 1, 1]);
    for (let second = 0; second < 20; second++) await play(client, inTime);
    expect(threadsOf(0)).toBe(8);
    gate.open();
    expect(await client.turnOf(turn)).toMatchObject({ status: 'SUCCESS', text: 'Once upon a time.' });
  });

  it('limit one session; in a batch of several the lowest limit holds, and so does that of setPace', async () => {
    const { server, speak, threadsOf } = await startSpeaking();
    await using _ = server;
    await using game = await TestClient.connect(server.url, subprotocol);
    await using other = await TestClient.connect(server.url, subprotocol);
    await speak(game);
    await speak(other);
    await play(game, late);
    expect([threadsOf(0), threadsOf(1), threadsOf(0, 1)]).toEqual([4, 8, 4]);
    await game.request('setPace', { maxThreads: 3 });
    expect(threadsOf(0)).toBe(3);
    await play(game, late);
    expect(threadsOf(0)).toBe(2);
    await game.request('setPace');
    expect(threadsOf(0)).toBe(2);
  });

  it('do not limit a session any more whose game reports nothing', async () => {
    shortenTimers(5000);
    const { server, speak, threadsOf } = await startSpeaking();
    await using _ = server;
    await using client = await TestClient.connect(server.url, subprotocol);
    await speak(client);
    await client.request('reportFrame', { ms: late, targetMs });
    while (threadsOf(0) < 8) await new Promise(setImmediate);
  });

  it('that a game sends with each frame change nothing more', async () => {
    const { server, speak, threadsOf } = await startSpeaking();
    await using _ = server;
    await using client = await TestClient.connect(server.url, subprotocol);
    await speak(client);
    for (let round = 0; round < 5; round++) {
      for (let frame = 0; frame < 1000; frame++) client.send('reportFrame', { ms: late, targetMs });
      await client.request('listModels');
    }
    expect(client.received.filter(({ body }) => body === 'ack')).toHaveLength(5000);
    expect(threadsOf(0)).toBe(4);
  });
});
