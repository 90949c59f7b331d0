import { describe, expect, it } from 'vitest';
import { chat } from '../helpers/graphs.ts';
import { Gate } from '../helpers/gate.ts';
import { framesOf, keyOf, lastSeqOf, resumed, seqsTo, textOf, untilGauge } from '../helpers/resume.ts';
import { startTestServer, subprotocols, TestClient } from '../helpers/server.ts';

const words = Array.from({ length: 40 }, (_, index) => `wörd${index} `).join('');

/** Each codec before the cut, with each codec after it. */
const codecPairs = subprotocols.flatMap((before) => subprotocols.map((after) => ({ before, after })));

describe.each(codecPairs)('a session over $before that is resumed over $after', ({ before, after }) => {
  it('gets the rest of an answer that was cut, without a gap or a duplicate', async () => {
    const gate = new Gate();
    await using server = await startTestServer({
      script: [{ match: 'tell', answer: words, gate, piecesBeforeGate: 5 }],
    });
    await using first = await TestClient.connect(server.url, before);
    const key = await keyOf(first);
    const agentId = await first.createAgent(chat());
    const requestId = first.send('sendMessage', { agentId, text: 'tell' });
    await first.waitFor((frame) => frame.body === 'answerText');
    first.socket.terminate();
    await untilGauge(server, 'detached_sessions', 1);

    // The turn goes on and ends without a connection.
    gate.open();
    await untilGauge(server, 'turns_running', 0);
    const lastSeq = lastSeqOf(first);
    const { client, replayed, requestsReceived } = await resumed(server.url, after, key, lastSeq);
    await using second = client;
    const turn = await second.turnOf(requestId);
    expect(turn).toMatchObject({ status: 'SUCCESS', agentId });
    expect(textOf(requestId, first, second)).toBe(words);
    expect(framesOf(first, second).map(({ seq }) => seq)).toEqual(seqsTo(lastSeq + replayed));
    expect(requestsReceived).toBe(3);

    // The agent, its dialog and the numbers of the frames go on.
    const dialog = await second.request('exportDialog', { agentId });
    expect(dialog).toMatchObject({ seq: lastSeq + replayed + 1, body: 'exportDialog' });
    expect(JSON.stringify(dialog)).toContain('wörd39');
  });
});
