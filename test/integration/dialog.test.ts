import { describe, expect, it } from 'vitest';
import { chat, guarded, screened } from '../helpers/graphs.ts';
import { useServer, TestClient, errorOf, subprotocols } from '../helpers/server.ts';
import { oneDayMs } from '../helpers/heldEngine.ts';

const server = useServer({ script: [{ match: 'before a word', answer: 'late', delay_ms: oneDayMs }] });

describe.each(subprotocols)('over %s, a conversation', (subprotocol) => {
  const connect = (): Promise<TestClient> => TestClient.connect(server().url, subprotocol);

  /** All parts of an exported dialog, joined. */
  async function exported(client: TestClient, agentId: number): Promise<unknown> {
    const requestId = client.send('exportDialog', { agentId });
    const parts = (): string[] =>
      client.received.flatMap((frame) =>
        frame.requestId === requestId && frame.body === 'exportDialog' ? [frame.exportDialog.historyJson] : [],
      );
    await client.waitFor(
      (frame) =>
        frame.requestId === requestId &&
        frame.body === 'exportDialog' &&
        frame.exportDialog.part === frame.exportDialog.of,
    );
    return JSON.parse(parts().join(''));
  }

  it('is exported with the text that was sent, marks and variables', async () => {
    await using client = await connect();
    const agentId = await client.createAgent(guarded(['attack']));
    await client.sendMessage(agentId, 'hello', { mood: 'calm' });
    await client.sendMessage(agentId, 'an attack');
    const pending = client.send('sendMessage', { agentId, text: 'before a word' });
    await client.request('cancelTurn', { agentId });
    await client.turnOf(pending);
    expect(await exported(client, agentId)).toEqual([
      { user: 'hello', assistant: 'You said: hello', variables: { mood: 'calm' } },
      { user: 'an attack', assistant: "I can't help with that." },
      { user: 'before a word', assistant: '', mark: 'cancelled' },
    ]);
  });

  it('keeps a message that a Guardrail forgets, and no later prompt has it', async () => {
    await using client = await connect();
    const agents = await Promise.all(
      [true, false].map((forget) => client.createAgent(guarded(['attack'], { forget }))),
    );
    const [forgetting = 0, other = 0] = agents;
    const first = await client.sendMessage(forgetting, 'hello');
    await client.sendMessage(forgetting, 'hello');
    const second = await client.sendMessage(forgetting, 'hello');
    await client.sendMessage(forgetting, 'an attack');
    await client.sendMessage(forgetting, 'one more Ａｔｔａｃｋ');
    const third = await client.sendMessage(forgetting, 'hello');
    const step = (second.tokensPrompt - first.tokensPrompt) / 2;
    expect(third.tokensPrompt).toBe(second.tokensPrompt + step);
    const history = await exported(client, forgetting);
    expect(history).toMatchObject([
      {},
      {},
      {},
      { user: 'an attack', assistant: "I can't help with that.", mark: 'forgotten' },
      { user: 'one more Ａｔｔａｃｋ', mark: 'forgotten' },
      { user: 'hello', assistant: 'You said: hello' },
    ]);
    const restored = await client.createAgent(guarded([]), { historyJson: JSON.stringify(history) });
    expect((await client.sendMessage(restored, 'hello')).tokensPrompt).toBe(third.tokensPrompt + step);
    await client.sendMessage(other, 'an attack');
    expect((await client.sendMessage(other, 'hello')).tokensPrompt).toBeGreaterThan(first.tokensPrompt);
  });

  it('forgets a turn whose answer a Guardrail replaced, too', async () => {
    await using client = await connect();
    const graph = screened('said: secret');
    const judge = {
      ...graph.nodes['judge'],
      type: 'Guardrail',
      params: { ...graph.nodes['judge']?.params, forget: true },
    };
    const agentId = await client.createAgent({ ...graph, nodes: { ...graph.nodes, judge } });
    await client.sendMessage(agentId, 'hello');
    await client.sendMessage(agentId, 'secret');
    const history = await exported(client, agentId);
    expect(history).toMatchObject([{ user: 'hello' }, { user: 'secret', mark: 'forgotten' }]);
    const other = await client.createAgent(graph);
    await client.sendMessage(other, 'hello');
    const second = await client.sendMessage(other, 'hello');
    expect((await client.sendMessage(agentId, 'hello')).tokensPrompt).toBe(second.tokensPrompt);
  });

  it('is exported without a message that fitted into no prompt', async () => {
    await using client = await connect();
    const agentId = await client.createAgent(chat({ model_name: 'turngraph-demo' }));
    const turn = await client.sendMessage(agentId, 'x'.repeat(60_000));
    expect(turn).toMatchObject({ status: 'ERROR', error: { name: 'PROMPT_TOO_LARGE' } });
    await client.sendMessage(agentId, 'hello');
    expect(await exported(client, agentId)).toMatchObject([{ user: 'hello' }]);
  });

  it('continues in another agent', async () => {
    await using client = await connect();
    const agentId = await client.createAgent(chat());
    const first = await client.sendMessage(agentId, 'hello');
    const history = await exported(client, agentId);
    const other = await client.createAgent(chat(), { historyJson: JSON.stringify(history) });
    const [here, there] = [await client.sendMessage(agentId, 'again'), await client.sendMessage(other, 'again')];
    expect(there.tokensPrompt).toBe(here.tokensPrompt);
    expect(there.tokensPrompt).toBeGreaterThan(first.tokensPrompt);
    expect(await exported(client, other)).toEqual(await exported(client, agentId));
  });

  it('longer than a frame is exported in parts that join to the whole', async () => {
    await using client = await connect();
    const history = Array.from({ length: 500 }, (_, index) => ({
      user: `${index} ${'é'.repeat(100)}`,
      assistant: '"\\'.repeat(50),
    }));
    const agentId = await client.createAgent(chat(), { historyJson: JSON.stringify(history) });
    expect(await exported(client, agentId)).toEqual(history);
    expect(client.received.filter(({ body }) => body === 'exportDialog').length).toBeGreaterThan(2);
  });

  it('is empty after clearDialog, which first cancels a running turn', async () => {
    await using client = await connect();
    const agentId = await client.createAgent(chat());
    const first = await client.sendMessage(agentId, 'hello');
    const pending = client.send('sendMessage', { agentId, text: 'before a word' });
    expect(await client.request('clearDialog', { agentId })).toMatchObject({ body: 'ack' });
    expect(await client.turnOf(pending)).toMatchObject({ status: 'CANCELLED' });
    expect(await exported(client, agentId)).toEqual([]);
    expect((await client.sendMessage(agentId, 'hello')).tokensPrompt).toBe(first.tokensPrompt);
  });

  it('is prefilled before its first message when warmUp is set', async () => {
    await using client = await connect();
    const graph = chat({ system_prompt: 'You are a tavern keeper of few words, many of them kind. '.repeat(5) });
    const cold = await client.sendMessage(await client.createAgent(graph), 'hello');
    const warm = await client.sendMessage(await client.createAgent(graph, { warmUp: true }), 'hello');
    expect(cold.tokensReused).toBe(0);
    expect(warm.tokensReused).toBeGreaterThan(50);
  });

  it.each([
    ['no JSON', '[', 'createAgent.historyJson is not valid JSON'],
    ['a mark and blanks', '\ufeff \n', 'createAgent.historyJson is empty: leave it out, or give "[]"'],
    [
      'messages of OpenAI',
      '[{"role": "user", "content": "Hi"}]',
      'write each turn as {"user": "...", "assistant": "..."}',
    ],
    ['no list', '{}', 'createAgent.historyJson must be an array, not {}'],
    [
      'a member twice',
      '[{"user": "a", "user": "b"}]',
      'createAgent.historyJson has the name "user" twice in one object at 1:16',
    ],
    ['a wrong type', '[{"user": "a", "assistant": 3}]', 'createAgent.historyJson[0].assistant must be a string, not 3'],
    [
      'a typo',
      '[{"user": "a", "asistant": "b"}]',
      'createAgent.historyJson[0].asistant is not known here; did you mean "assistant"?',
    ],
    [
      'arguments of a result that are no object',
      '[{"user": "a", "assistant": "b", "results": [{"call_id": "abcdefghi", "name": "f", "arguments_json": "{", "ok": true, "content": ""}]}]',
      'createAgent.historyJson[0].results[0].arguments_json must be the JSON text of an object, not "{"',
    ],
  ])('cannot be created from %s', async (_, historyJson, message) => {
    await using client = await connect();
    const answer = errorOf(await client.request('createAgent', { graphJson: JSON.stringify(chat()), historyJson }));
    expect(answer).toMatchObject({ code: 5001, message: expect.stringContaining(message) as unknown });
    expect(await client.createAgent(chat())).toBe(1);
  });
});
