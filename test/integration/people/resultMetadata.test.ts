import { describe, expect, it } from 'vitest';
import { chatmlCall, notifications, result, scriptedEngine, weather } from '../../helpers/resultGraphs.ts';
import { errorOf, subprotocols, TestClient, useServer } from '../../helpers/server.ts';

const engine = scriptedEngine([
  {
    match: 'both',
    node: 'detect',
    nth: 1,
    answer: ['Paris', 'Oslo'].map((city) => chatmlCall('get_weather', { city })).join('\n'),
  },
  { match: '', node: 'detect', answer: 'No call.' },
  { match: '', node: 'answer', answer: 'It is fine.' },
]);
const server = useServer({ engines: { mock: engine } });

describe.each(subprotocols)('over %s, the metadata of a result', (subprotocol) => {
  /** An agent in a turn that waits for two results, by their call ids. */
  async function startWaiting(client: TestClient) {
    const agentId = await client.createAgent(weather());
    const requestId = client.send('sendMessage', { agentId, text: 'both' });
    const calls = await notifications(client, requestId, 2);
    return { agentId, requestId, first: calls[0]?.callId ?? '', second: calls[1]?.callId ?? '' };
  }

  it('comes back with the turn and with the dialog, and is in no prompt', async () => {
    await using client = await TestClient.connect(server().url, subprotocol);
    const { agentId, requestId, first, second } = await startWaiting(client);
    const kept = '{"source": "secret station", "cost": 12345678901234567890}';
    const submit = (given: Parameters<typeof result>[0]) =>
      client.request('submitToolResults', { agentId, results: [result(given)] });
    await submit({ callId: first, content: 'sun', metadataJson: kept, lifespan: 'DIALOG' });
    await submit({ callId: second, content: 'snow' });
    const turn = await client.turnOf(requestId);
    expect(turn.resultMetadata).toEqual([{ callId: first, toolName: 'get_weather', metadataJson: kept }]);
    const dialog = await client.dialogOf(agentId);
    expect(dialog).toMatchObject([
      {
        results: [{ call_id: first }],
        result_metadata: [{ call_id: first, name: 'get_weather', metadata_json: kept }],
      },
    ]);
    const copy = await client.createAgent(weather(), { historyJson: JSON.stringify(dialog) });
    expect(await client.dialogOf(copy)).toEqual(dialog);
    for (const agent of [agentId, copy]) await client.sendMessage(agent, 'Hello.');
    expect(JSON.stringify(engine.prompts)).not.toContain('secret station');
  });

  it.each([
    ['no JSON', '{"cost": }', 5001, 'metadataJson is not valid JSON at 1:10'],
    ['more than 8 KiB', `"${'x'.repeat(8200)}"`, 2005, 'metadataJson has'],
  ])('is refused if it is %s, and none of the results is taken', async (_, metadataJson, code, why) => {
    await using client = await TestClient.connect(server().url, subprotocol);
    const { agentId, requestId, first, second } = await startWaiting(client);
    const bad = [result({ callId: first }), result({ callId: second, metadataJson })];
    const error = errorOf(await client.request('submitToolResults', { agentId, results: bad }));
    expect(error).toMatchObject({ code, message: expect.stringContaining(`results[1].${why}`) as unknown });
    const results = [result({ callId: first }), result({ callId: second, metadataJson: 'null' })];
    expect((await client.request('submitToolResults', { agentId, results })).body).toBe('ack');
    expect((await client.turnOf(requestId)).resultMetadata).toMatchObject([{ callId: second }]);
  });

  it('does not make a summary too large for its frame: what does not fit is in the dialog only, with a warning', async () => {
    await using client = await TestClient.connect(server().url, subprotocol);
    const { agentId, requestId, first, second } = await startWaiting(client);
    const metadataJson = JSON.stringify('x'.repeat(8000));
    const results = [first, second].map((callId) => result({ callId, metadataJson }));
    await client.request('submitToolResults', { agentId, results });
    const turn = await client.turnOf(requestId);
    expect(turn.resultMetadata.map(({ callId }) => callId)).toEqual([first]);
    expect(turn.warnings).toEqual([expect.stringContaining('metadata of 2 results')]);
    const [entry] = await client.dialogOf(agentId);
    expect(entry?.result_metadata?.map(({ call_id }) => call_id)).toEqual([first, second]);
  });
});
