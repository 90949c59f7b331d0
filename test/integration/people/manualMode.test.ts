import { describe, expect, it } from 'vitest';
import type { ClientFrameBodies } from '../../../src/protocol/frames.gen.ts';
import { chat } from '../../helpers/graphs.ts';
import { chatmlCall, lastPrompt, notifications, result, scriptedEngine, weather } from '../../helpers/resultGraphs.ts';
import { keyOf, lastSeqOf, resumed } from '../../helpers/resume.ts';
import { errorOf, subprotocols, TestClient, useServer } from '../../helpers/server.ts';

const engine = scriptedEngine([
  { match: 'Paris', node: 'detect', nth: 1, answer: chatmlCall('get_weather', { city: 'Paris' }) },
  { match: '', node: 'detect', answer: 'No call.' },
  { match: '', node: 'answer', answer: 'It is fine.' },
]);
const server = useServer({ engines: { mock: engine } });
const manual = { mode: 'MANUAL', endTurn: false, answer: '' } as const;

describe.each(subprotocols)('over %s, in the mode MANUAL', (subprotocol) => {
  const connect = (): Promise<TestClient> => TestClient.connect(server().url, subprotocol);

  it('a message is recorded and its turn ends at once, until people give the agent back', async () => {
    await using client = await connect();
    const agentId = await client.createAgent(chat());
    expect(await client.sendMessage(agentId, 'Hello.')).toMatchObject({ text: 'It is fine.', mode: 'AUTO' });
    expect((await client.request('setAgentMode', { agentId, mode: 'MANUAL' })).body).toBe('ack');
    const inferences = engine.prompts.length;
    const turn = await client.sendMessage(agentId, 'I want a person.', { mood: 'angry' });
    expect(turn).toMatchObject({ status: 'SUCCESS', mode: 'MANUAL', path: [], text: '', error: null, turnId: 2 });
    expect(turn.frames.map(({ body }) => body)).toEqual(['answerText', 'turnComplete']);
    await client.request('appendText', { agentId, text: 'This is Ann. How can I help?' });
    expect(await client.sendMessage(agentId, 'The lamp is broken.')).toMatchObject({ mode: 'MANUAL', turnId: 3 });
    expect(engine.prompts).toHaveLength(inferences);
    await client.request('setAgentMode', { agentId, mode: 'AUTO' });
    expect(await client.sendMessage(agentId, 'And now?')).toMatchObject({ text: 'It is fine.', mode: 'AUTO' });
    expect(lastPrompt(engine)).toEqual([
      'user: Hello.',
      'assistant: It is fine.',
      'user: I want a person.',
      'assistant: This is Ann. How can I help?',
      'user: The lamp is broken.',
      'user: And now?',
    ]);
    expect((await client.dialogOf(agentId)).slice(1, 3)).toEqual([
      { user: 'I want a person.', assistant: '', mark: 'recorded', variables: { mood: 'angry' } },
      { user: '', assistant: 'This is Ann. How can I help?' },
    ]);
  });

  it('an agent is from the control of a result on; its turn goes on, and its Branch knows', async () => {
    await using client = await connect();
    const { start_node, nodes } = weather();
    const detect = { ...nodes.detect, exits: { ...nodes.detect.exits, tool_called: 'who' } };
    const who = {
      type: 'Branch',
      params: { cases: [{ exit: 'people', when: { 'agent.mode': 'MANUAL' } }] },
      exits: { people: 'sorry', otherwise: 'answer' },
    };
    const graph = { start_node, nodes: { ...nodes, detect, who } };
    const agentId = await client.createAgent(graph, { enableDiagnostics: true });
    const requestId = client.send('sendMessage', { agentId, text: 'Paris?' });
    const [call] = await notifications(client, requestId, 1);
    await client.request('submitToolResults', { agentId, results: [result({ ...call, control: manual })] });
    const turn = await client.turnOf(requestId);
    expect(turn).toMatchObject({ status: 'SUCCESS', mode: 'MANUAL', text: 'I cannot reach it.' });
    expect(turn.steps).toBe('detect:tool_called who:people sorry:default');
    const modes = turn.frames.flatMap((frame) => (frame.body === 'nodeEvent' ? [frame.nodeEvent] : []));
    expect(modes.find(({ eventType }) => eventType === 'node_started')?.mode).toBe('AUTO');
    expect(modes.at(-1)?.mode).toBe('MANUAL');
    expect(await client.sendMessage(agentId, 'Paris?')).toMatchObject({ path: [], mode: 'MANUAL', calls: [] });
  });

  it('an agent stays in the mode where results with another control are refused', async () => {
    await using client = await connect();
    const agentId = await client.createAgent(weather());
    const requestId = client.send('sendMessage', { agentId, text: 'Paris?' });
    const [call] = await notifications(client, requestId, 1);
    const results = [result({ ...call, control: manual }), result({ callId: 'unknown00' })];
    expect(errorOf(await client.request('submitToolResults', { agentId, results })).code).toBe(3012);
    await client.request('submitToolResults', { agentId, results: [result({ ...call })] });
    expect((await client.turnOf(requestId)).mode).toBe('AUTO');
  });

  it('an agent is exported, and a new one in another session has the mode and the dialog', async () => {
    await using client = await connect();
    const agentId = await client.createAgent(chat());
    await client.request('setAgentMode', { agentId, mode: 'MANUAL' });
    const empty = await client.dialogOf(agentId);
    expect(empty).toEqual([{ user: '', assistant: '', agent: { mode: 'MANUAL' } }]);
    await client.sendMessage(agentId, 'Is anybody there?');
    await client.request('appendText', { agentId, text: 'I am.' });
    const dialog = await client.dialogOf(agentId);
    expect(dialog).toEqual([
      { user: 'Is anybody there?', assistant: '', mark: 'recorded' },
      { user: '', assistant: 'I am.', agent: { mode: 'MANUAL' } },
    ]);
    await using other = await connect();
    for (const history of [empty, dialog]) {
      const copy = await other.createAgent(chat(), { historyJson: JSON.stringify(history) });
      expect(await other.dialogOf(copy)).toEqual(history);
      expect(await other.sendMessage(copy, 'You?')).toMatchObject({ mode: 'MANUAL', path: [] });
    }
    const old = await other.createAgent(chat(), { historyJson: '[{"user": "Hi.", "assistant": "Hello."}]' });
    expect(await other.sendMessage(old, 'You?')).toMatchObject({ mode: 'AUTO', text: 'It is fine.' });
  });

  it('an agent stays, after its socket was cut', async () => {
    await using client = await connect();
    const key = await keyOf(client);
    const agentId = await client.createAgent(chat());
    await client.request('setAgentMode', { agentId, mode: 'MANUAL' });
    client.socket.terminate();
    const { client: second } = await resumed(server().url, subprotocol, key, lastSeqOf(client));
    await using _ = second;
    expect(await second.sendMessage(agentId, 'Hello?')).toMatchObject({ mode: 'MANUAL', path: [] });
    await second.request('clearDialog', { agentId });
    expect(await second.dialogOf(agentId)).toEqual([{ user: '', assistant: '', agent: { mode: 'MANUAL' } }]);
  });

  it('an agent is in no other mode, and a saved one neither', async () => {
    await using client = await connect();
    const agentId = await client.createAgent(chat());
    const historyJson = '[{"user": "", "assistant": "", "agent": {"mode": "SHARED"}}]';
    const source = { graphJson: JSON.stringify(chat()), historyJson };
    const { code, message } = errorOf(await client.request('createAgent', source));
    expect([code, message]).toEqual([5001, expect.stringContaining('[0].agent.mode') as unknown]);
    const fields = { agentId, mode: 'SHARED' } as unknown as ClientFrameBodies['setAgentMode'];
    if (subprotocol === 'turngraph.v1.json') {
      const refusal = errorOf(await client.request('setAgentMode', fields));
      expect(refusal).toMatchObject({
        code: 5001,
        message: expect.stringContaining('setAgentMode.mode must be one of AUTO, MANUAL, not "SHARED"') as unknown,
      });
    } else {
      // A request of agent 1 with the number 7 of a mode: field 24 of the frame.
      client.socket.send(Uint8Array.from([0x08, 99, 0xc2, 0x01, 4, 0x08, agentId, 0x10, 7]));
      expect(errorOf(await client.finalResponse(99)).code).toBe(5001);
    }
    expect((await client.sendMessage(agentId, 'Hello.')).mode).toBe('AUTO');
  });
});
