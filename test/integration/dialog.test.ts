import { describe, expect, it } from 'vitest';
import { chat, guarded } from '../helpers/graphs.ts';
import { aServer, Player, refusal, subprotocols } from '../helpers/server.ts';
import { aDay } from '../helpers/heldEngine.ts';

const server = aServer({ script: [{ match: 'before a word', answer: 'late', delay_ms: aDay }] });

describe.each(subprotocols)('over %s, a conversation', (subprotocol) => {
  const connect = (): Promise<Player> => Player.connect(server().url, subprotocol);

  /** All parts of an exported dialog, joined. */
  async function exported(player: Player, agentId: number): Promise<unknown> {
    const requestId = player.sends('exportDialog', { agentId });
    const parts = (): string[] =>
      player.heard.flatMap((frame) =>
        frame.requestId === requestId && frame.body === 'exportDialog' ? [frame.exportDialog.historyJson] : [],
      );
    await player.until(
      (frame) =>
        frame.requestId === requestId &&
        frame.body === 'exportDialog' &&
        frame.exportDialog.part === frame.exportDialog.of,
    );
    return JSON.parse(parts().join(''));
  }

  it('is exported with what the client was sent, marks and variables', async () => {
    await using player = await connect();
    const agentId = await player.makes(guarded(['attack']));
    await player.says(agentId, 'hello', { mood: 'calm' });
    await player.says(agentId, 'an attack');
    const waiting = player.sends('sendMessage', { agentId, text: 'before a word' });
    await player.asks('cancelTurn', { agentId });
    await player.told(waiting);
    expect(await exported(player, agentId)).toEqual([
      { user: 'hello', assistant: 'You said: hello', variables: { mood: 'calm' } },
      { user: 'an attack', assistant: "I can't help with that." },
      { user: 'before a word', assistant: '', mark: 'cancelled' },
    ]);
  });

  it('goes on in another agent where it was left', async () => {
    await using player = await connect();
    const agentId = await player.makes(chat());
    const first = await player.says(agentId, 'hello');
    const history = await exported(player, agentId);
    const other = await player.makes(chat(), { historyJson: JSON.stringify(history) });
    const [here, there] = [await player.says(agentId, 'again'), await player.says(other, 'again')];
    expect(there.tokensPrompt).toBe(here.tokensPrompt);
    expect(there.tokensPrompt).toBeGreaterThan(first.tokensPrompt);
    expect(await exported(player, other)).toEqual(await exported(player, agentId));
  });

  it('longer than a frame comes in parts that join to the whole', async () => {
    await using player = await connect();
    const history = Array.from({ length: 500 }, (_, index) => ({
      user: `${index} ${'é'.repeat(100)}`,
      assistant: '"\\'.repeat(50),
    }));
    const agentId = await player.makes(chat(), { historyJson: JSON.stringify(history) });
    expect(await exported(player, agentId)).toEqual(history);
    expect(player.heard.filter(({ body }) => body === 'exportDialog').length).toBeGreaterThan(2);
  });

  it('is forgotten when it is cleared, and a turn that runs is cancelled first', async () => {
    await using player = await connect();
    const agentId = await player.makes(chat());
    const first = await player.says(agentId, 'hello');
    const waiting = player.sends('sendMessage', { agentId, text: 'before a word' });
    expect(await player.asks('clearDialog', { agentId })).toMatchObject({ body: 'ack' });
    expect(await player.told(waiting)).toMatchObject({ status: 'CANCELLED' });
    expect(await exported(player, agentId)).toEqual([]);
    expect((await player.says(agentId, 'hello')).tokensPrompt).toBe(first.tokensPrompt);
  });

  it('is warm before its first message when that is asked for', async () => {
    await using player = await connect();
    const graph = chat({ system_prompt: 'You are a tavern keeper of few words, many of them kind. '.repeat(5) });
    const cold = await player.says(await player.makes(graph), 'hello');
    const warm = await player.says(await player.makes(graph, { warmUp: true }), 'hello');
    expect(cold.tokensReused).toBe(0);
    expect(warm.tokensReused).toBeGreaterThan(50);
  });

  it.each([
    ['no JSON', '[', 'createAgent.historyJson is no JSON'],
    ['no list', '{}', 'createAgent.historyJson must be an array, not {}'],
    ['a wrong type', '[{"user": "a", "assistant": 3}]', 'createAgent.historyJson[0].assistant must be a string, not 3'],
    [
      'a typo',
      '[{"user": "a", "asistant": "b"}]',
      'createAgent.historyJson[0].asistant is not known here; did you mean "assistant"?',
    ],
  ])('cannot begin with %s', async (_, historyJson, message) => {
    await using player = await connect();
    const answer = refusal(await player.asks('createAgent', { graphJson: JSON.stringify(chat()), historyJson }));
    expect(answer).toMatchObject({ code: 5001, message: expect.stringContaining(message) as unknown });
    expect(await player.makes(chat())).toBe(1);
  });
});
