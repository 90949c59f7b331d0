import { describe, expect, it } from 'vitest';
import { Gate } from '../../helpers/gate.ts';
import { chat, guarded } from '../../helpers/graphs.ts';
import { chatmlCall, lastPrompt, notifications, result, scriptedEngine, weather } from '../../helpers/resultGraphs.ts';
import { keyOf, lastSeqOf, resumed } from '../../helpers/resume.ts';
import { errorOf, startTestServer, subprotocols, TestClient, useServer } from '../../helpers/server.ts';

const engine = scriptedEngine([
  { match: 'Paris', node: 'detect', nth: 1, answer: chatmlCall('get_weather', { city: 'Paris' }) },
  { match: '', node: 'detect', answer: 'No call.' },
  { match: '', node: 'answer', answer: 'It is fine.' },
]);
const server = useServer({ engines: { mock: engine } });
const canned = (line: string) => ({
  start_node: 'say',
  nodes: { say: { type: 'CannedResponse', params: { inline_strings: [line] } } },
});

describe.each(subprotocols)('over %s, a line that is appended', (subprotocol) => {
  const connect = (): Promise<TestClient> => TestClient.connect(server().url, subprotocol);

  /** An agent whose turn waits for the result of a call. */
  async function startWaiting(client: TestClient) {
    const agentId = await client.createAgent(weather());
    const requestId = client.send('sendMessage', { agentId, text: 'Paris?', variables: { mood: 'glad' } });
    const [call] = await notifications(client, requestId, 1);
    const submit = () =>
      client.request('submitToolResults', { agentId, results: [result({ ...call, content: '18 degrees' })] });
    return { agentId, requestId, submit };
  }

  it('stands between turns, and the next prompt has it', async () => {
    await using client = await connect();
    const agentId = await client.createAgent(chat());
    await client.sendMessage(agentId, 'Hello.');
    await client.request('appendText', { agentId, text: 'The door opens.' });
    await client.request('appendText', { agentId, text: 'Who is there?', role: 'user' });
    await client.request('appendText', { agentId, text: 'The wind.', role: 'assistant' });
    await client.sendMessage(agentId, 'I see.');
    expect(await client.dialogOf(agentId)).toEqual([
      { user: 'Hello.', assistant: 'It is fine.' },
      { user: '', assistant: 'The door opens.' },
      { user: 'Who is there?', assistant: '', mark: 'recorded' },
      { user: '', assistant: 'The wind.' },
      { user: 'I see.', assistant: 'It is fine.' },
    ]);
    expect(lastPrompt(engine)).toEqual([
      'user: Hello.',
      'assistant: It is fine.',
      'assistant: The door opens.',
      'user: Who is there?',
      'assistant: The wind.',
      'user: I see.',
    ]);
  });

  it('stands between the message and the answer of a turn that waits for a result, whose prompts do not have it', async () => {
    await using client = await connect();
    const { agentId, requestId, submit } = await startWaiting(client);
    expect((await client.request('appendText', { agentId, text: 'Looking it up.' })).body).toBe('ack');
    await client.request('appendText', { agentId, text: 'Be quick!', role: 'user' });
    const lines = [
      { user: 'Paris?', assistant: '', mark: 'recorded', variables: { mood: 'glad' } },
      { user: '', assistant: 'Looking it up.' },
      { user: 'Be quick!', assistant: '', mark: 'recorded' },
    ];
    expect(await client.dialogOf(agentId)).toEqual(lines);
    await submit();
    expect(await client.turnOf(requestId)).toMatchObject({ status: 'SUCCESS', text: 'It is fine.', warnings: [] });
    expect(JSON.stringify(lastPrompt(engine))).not.toContain('Looking');
    expect(await client.dialogOf(agentId)).toEqual([...lines, { user: '', assistant: 'It is fine.' }]);
    await client.sendMessage(agentId, 'Thanks.');
    expect(lastPrompt(engine)).toEqual([
      'user: Paris?',
      'assistant: Looking it up.',
      'user: Be quick!',
      'assistant: It is fine.',
      'user: Thanks.',
    ]);
  });

  it('is sent in the running turn with notify, before the answer', async () => {
    await using client = await connect();
    const { agentId, requestId, submit } = await startWaiting(client);
    await client.request('appendText', { agentId, text: 'x'.repeat(100_000), notify: true });
    await client.request('appendText', { agentId, text: 'silent' });
    await submit();
    const { frames } = await client.turnOf(requestId);
    const texts = frames.flatMap((frame) => (frame.body === 'answerText' ? [frame.answerText] : []));
    const own = texts.filter(({ source }) => source === 'client');
    expect(own.map(({ text }) => text).join('')).toBe('x'.repeat(100_000));
    expect(own[0]).toMatchObject({ agentId, turnId: 1, nodeName: '', isDelta: true, isFinal: false });
    expect(texts.slice(0, own.length)).toEqual(own);
    expect(texts.slice(own.length).map(({ text, source }) => text + source)).toEqual(['It ', 'is ', 'fine.', '']);
  });

  it('is an answer to its own request with notify, while no turn runs', async () => {
    await using client = await connect();
    const agentId = await client.createAgent(canned('Yes.'));
    const requestId = client.send('appendText', { agentId, text: 'Good evening.', notify: true });
    await client.finalResponse(requestId);
    const frames = client.received.filter((frame) => frame.requestId === requestId);
    expect(frames).toMatchObject([
      { body: 'answerText', answerText: { agentId, turnId: 0, text: 'Good evening.', source: 'client' } },
      { body: 'ack' },
    ]);
  });

  it('stays when its turn is cancelled, and that turn has its mark', async () => {
    await using client = await connect();
    const { agentId, requestId } = await startWaiting(client);
    await client.request('appendText', { agentId, text: 'Looking it up.' });
    await client.request('cancelTurn', { agentId });
    await client.turnOf(requestId);
    expect((await client.dialogOf(agentId)).slice(1)).toMatchObject([
      { user: '', assistant: 'Looking it up.' },
      { user: '', assistant: '', mark: 'cancelled' },
    ]);
  });

  it('is gone with the dialog, and comes back with an export', async () => {
    await using client = await connect();
    const { agentId, requestId, submit } = await startWaiting(client);
    await client.request('appendText', { agentId, text: 'Looking it up.' });
    await submit();
    await client.turnOf(requestId);
    const dialog = await client.dialogOf(agentId);
    const copy = await client.createAgent(chat(), { historyJson: JSON.stringify(dialog) });
    expect(await client.dialogOf(copy)).toEqual(dialog);
    await client.request('clearDialog', { agentId });
    expect(await client.dialogOf(agentId)).toEqual([]);
  });

  it.each([
    ['an empty text', { text: '' }, 5001, 'appendText.text is empty'],
    ['another role', { text: 'Hm.', role: 'keeper' }, 5001, 'must be "assistant" or "user", not "keeper"'],
    ['too long a text', { text: 'x'.repeat(262_145) }, 2005, 'appendText.text has 262145 bytes'],
    ['an agent that there is none', { text: 'Hm.', agentId: 99 }, 3001, '99'],
  ])('is refused for %s, and nothing is added', async (_, fields, code, why) => {
    await using client = await connect();
    const agentId = await client.createAgent(canned('Yes.'));
    const error = errorOf(await client.request('appendText', { agentId, notify: true, ...fields }));
    expect(error).toMatchObject({ code, message: expect.stringContaining(why) as unknown });
    expect(await client.dialogOf(agentId)).toEqual([]);
  });

  it('is there once after a socket was cut, and its turn goes on', async () => {
    await using client = await connect();
    const key = await keyOf(client);
    const { agentId, requestId } = await startWaiting(client);
    client.send('appendText', { agentId, text: 'Looking it up.', notify: true });
    await client.waitFor((frame) => frame.body === 'answerText');
    const { callId } = await client.receive('toolCallNotification');
    client.socket.terminate();
    const { client: second } = await resumed(server().url, subprotocol, key, lastSeqOf(client));
    await using _ = second;
    await second.request('submitToolResults', { agentId, results: [result({ callId, content: 'sun' })] });
    await second.turnOf(requestId);
    const lines = (await second.dialogOf(agentId)).map(({ user, assistant }) => user + assistant);
    expect(lines).toEqual(['Paris?', 'Looking it up.', 'It is fine.']);
  });
});

describe.each(subprotocols)('over %s, a turn to which a line was added', (subprotocol) => {
  it('is forgotten with its message, if a Guardrail forgets it afterwards', async () => {
    const gate = new Gate();
    await using own = await startTestServer({ script: [{ match: 'attack', answer: 'An attack.', gate }] });
    await using client = await TestClient.connect(own.url, subprotocol);
    const { nodes } = guarded(['attack'], { forget: true });
    const graph = {
      start_node: 'answer',
      nodes: { ...nodes, answer: { type: 'Generate', exits: { default: 'guard' } } },
    };
    const agentId = await client.createAgent(graph);
    const requestId = client.send('sendMessage', { agentId, text: 'an attack' });
    await client.waitFor((frame) => frame.body === 'answerText');
    await client.request('appendText', { agentId, text: 'Wait.' });
    gate.open();
    await client.turnOf(requestId);
    expect(await client.dialogOf(agentId)).toMatchObject([
      { user: 'an attack', mark: 'forgotten' },
      { assistant: 'Wait.' },
      { user: '', mark: 'forgotten' },
    ]);
  });
});
