import { describe, expect, it } from 'vitest';
import { chat } from '../../helpers/graphs.ts';
import { lastPrompt, scriptedEngine } from '../../helpers/resultGraphs.ts';
import { keyOf, lastSeqOf, resumed } from '../../helpers/resume.ts';
import { errorOf, subprotocols, TestClient, useServer } from '../../helpers/server.ts';

const engine = scriptedEngine([{ match: '', answer: 'Yes.' }]);
const server = useServer({ engines: { mock: engine } });
const graph = chat({ system_prompt: '{{name}}, {{hp}}, {{place}}' });

describe.each(subprotocols)('over %s, variables of an agent', (subprotocol) => {
  const connect = (): Promise<TestClient> => TestClient.connect(server().url, subprotocol);
  const set = (client: TestClient, agentId: number, variables: unknown) =>
    client.request('setVariables', { agentId, variablesJson: JSON.stringify(variables) });
  /** The system prompt of the next turn. */
  const systemOf = async (client: TestClient, agentId: number, variables = {}): Promise<string | undefined> => {
    await client.sendMessage(agentId, 'Hello.', variables);
    return lastPrompt(engine)[0];
  };

  it('are in the templates of all later turns, and those of a message win for its turn', async () => {
    await using client = await connect();
    const agentId = await client.createAgent(graph);
    expect((await set(client, agentId, { name: 'Ada', hp: 12, place: { x: [1, true] } })).body).toBe('ack');
    const place = '{"x": [1, true]}';
    expect(await systemOf(client, agentId)).toBe(`system: Ada, 12, ${place}`);
    expect(await systemOf(client, agentId, { name: 'Bo' })).toBe(`system: Bo, 12, ${place}`);
    expect(await systemOf(client, agentId)).toBe(`system: Ada, 12, ${place}`);
    await set(client, agentId, { hp: 3, place: null });
    expect(await systemOf(client, agentId)).toBe('system: Ada, 3, ');
    await client.request('setVariables', { agentId, variablesJson: '{"hp": 12345678901234567890}' });
    expect(await systemOf(client, agentId)).toBe('system: Ada, 12345678901234567890, ');
  });

  it('are compared by a Branch, where a variable of the message wins', async () => {
    await using client = await connect();
    const params = { cases: [{ exit: 'weak', when: { hp: { $lt: 20 } } }] };
    const agentId = await client.createAgent({ start_node: 'branch', nodes: { branch: { type: 'Branch', params } } });
    await set(client, agentId, { hp: 5 });
    expect((await client.sendMessage(agentId, 'Hello.')).steps).toBe('branch:weak');
    expect((await client.sendMessage(agentId, 'Hello.', { hp: '50' })).steps).toBe('branch:otherwise');
  });

  it('are exported apart from those of messages, and a new agent has them', async () => {
    await using client = await connect();
    const agentId = await client.createAgent(graph);
    await set(client, agentId, { name: 'Ada', hp: 12 });
    await client.sendMessage(agentId, 'Hello.', { name: 'Bo' });
    await client.request('clearDialog', { agentId });
    await client.sendMessage(agentId, 'Hello.', { place: 'inn' });
    const dialog = await client.dialogOf(agentId);
    expect(dialog).toEqual([
      {
        user: 'Hello.',
        assistant: 'Yes.',
        variables: { place: 'inn' },
        agent: { variables: { name: 'Ada', hp: '12' } },
      },
    ]);
    await using other = await connect();
    const copy = await other.createAgent(graph, { historyJson: JSON.stringify(dialog) });
    expect(await other.dialogOf(copy)).toEqual(dialog);
    expect(await systemOf(other, copy)).toBe('system: Ada, 12, ');
  });

  it('stay after a socket was cut', async () => {
    await using client = await connect();
    const key = await keyOf(client);
    const agentId = await client.createAgent(graph);
    await set(client, agentId, { name: 'Ada' });
    client.socket.terminate();
    const { client: second } = await resumed(server().url, subprotocol, key, lastSeqOf(client));
    await using _ = second;
    expect(await systemOf(second, agentId)).toBe('system: Ada, , ');
  });

  it('have 64 KiB in all, and no more', async () => {
    await using client = await connect();
    const agentId = await client.createAgent(graph);
    const empty = Buffer.byteLength(JSON.stringify({ name: 'Ada', place: '' }));
    await set(client, agentId, { name: 'Ada' });
    const fits = { place: 'x'.repeat(64 * 1024 - empty) };
    expect(errorOf(await set(client, agentId, { place: `${fits.place}x` }))).toMatchObject({
      code: 2005,
      message: expect.stringContaining('would have 65537 bytes, and 65536 are allowed') as unknown,
    });
    expect(errorOf(await set(client, agentId, { place: 'x'.repeat(64 * 1024) }))).toMatchObject({
      code: 2005,
      message: expect.stringContaining('setVariables.variablesJson has 65548 bytes') as unknown,
    });
    expect(await systemOf(client, agentId)).toBe('system: Ada, , ');
    expect((await set(client, agentId, fits)).body).toBe('ack');
    const variables = { name: 'Ada', place: `${fits.place}x` };
    const historyJson = JSON.stringify([{ user: '', assistant: '', agent: { variables } }]);
    const source = { graphJson: JSON.stringify(graph), historyJson };
    expect(errorOf(await client.request('createAgent', source)).code).toBe(2005);
  });

  it.each([
    ['', 'is not valid JSON at 1:1'],
    ['{"name": }', 'is not valid JSON at 1:10'],
    ['{"hp": 1e999}', 'is not valid JSON at 1:8: a number beyond 1.8e308'],
    ['["name"]', 'must be a JSON object'],
    ['{"hp": 1,\n "hp": 2}', 'has the name "hp" twice in one object at 2:2'],
  ])('are refused as %j, and nothing is changed', async (variablesJson, why) => {
    await using client = await connect();
    const agentId = await client.createAgent(graph);
    await set(client, agentId, { name: 'Ada' });
    const { code, message } = errorOf(await client.request('setVariables', { agentId, variablesJson }));
    expect([code, message]).toEqual([5001, expect.stringContaining(`setVariables.variablesJson ${why}`) as unknown]);
    expect(await systemOf(client, agentId)).toBe('system: Ada, , ');
  });
});
