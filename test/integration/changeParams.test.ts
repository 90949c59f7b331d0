import { beforeEach, describe, expect, it } from 'vitest';
import { chat, guarded, lamp, setLight } from '../helpers/graphs.ts';
import { aServer, Player, refusal, subprotocols } from '../helpers/server.ts';
import { Gate } from '../helpers/gate.ts';

const slowly = new Gate();
beforeEach(() => slowly.close());

const server = aServer({ script: [{ match: 'slowly', answer: 'one two three', gate: slowly }] });

describe.each(subprotocols)('over %s, between turns', (subprotocol) => {
  const connect = (): Promise<Player> => Player.connect(server().url, subprotocol);
  const changes = (player: Player, agentId: number, nodeName: string, params: unknown) =>
    player.asks('changeParams', { agentId, nodeName, paramsJson: JSON.stringify(params) });

  it('a template changes, and null restores its default', async () => {
    await using player = await connect();
    const agentId = await player.makes(chat({ placement: 'in_place_of_user' }));
    expect(await changes(player, agentId, 'answer', { template: 'HEAR: {{user_message}}' })).toMatchObject({
      body: 'ack',
    });
    expect(await player.says(agentId, 'hello')).toMatchObject({ text: 'You said: HEAR: hello' });
    await changes(player, agentId, 'answer', { template: null });
    expect(await player.says(agentId, 'hello')).toMatchObject({ text: 'You said: hello' });
  });

  it('objects merge one level deep, and null in them restores a default', async () => {
    await using player = await connect();
    const agentId = await player.makes(chat({ sampling: { max_tokens: 2, stop: ['llo'] } }));
    expect(await player.says(agentId, 'hello')).toMatchObject({ text: 'You said', stopReason: 'LENGTH' });
    await changes(player, agentId, 'answer', { sampling: { max_tokens: null } });
    expect(await player.says(agentId, 'hello')).toMatchObject({ text: 'You said: he', stopReason: 'STOP' });
    await changes(player, agentId, 'answer', { sampling: null });
    expect(await player.says(agentId, 'hello')).toMatchObject({ text: 'You said: hello', stopReason: 'END' });
  });

  it('tools are no longer offered when tool_choice becomes none', async () => {
    await using player = await connect();
    const agentId = await player.makes(lamp());
    expect((await player.says(agentId, 'hello')).tokensPrompt).toBeGreaterThan(50);
    await changes(player, agentId, 'detect', { tool_choice: 'none' });
    expect((await player.says(agentId, 'hello')).tokensPrompt).toBeLessThan(50);
  });

  it.each([
    [
      'a structural parameter',
      'detect',
      { tools: [setLight] },
      3006,
      'detect.params.tools is fixed when the agent is made',
    ],
    ['a parameter that does not exist', 'detect', { tool_choise: 'none' }, 3007, 'did you mean "tool_choice"?'],
    [
      'a value of the wrong type',
      'detect',
      { notify_client: 'yes' },
      3007,
      'detect.params.notify_client must be a boolean, not "yes"',
    ],
    [
      'a template that does not close',
      'answer',
      { system_prompt: '{{#a}}' },
      3007,
      'answer.params.system_prompt is no Mustache template',
    ],
    ['a node that does not exist', 'anwser', { stream: false }, 3005, 'did you mean "answer"?'],
    ['what is no object', 'answer', [1], 3007, 'must be a JSON object'],
  ])('%s is refused, and nothing changes', async (_, nodeName, params, code, message) => {
    await using player = await connect();
    const agentId = await player.makes(lamp());
    const answer = refusal(await changes(player, agentId, nodeName, params));
    expect(answer).toMatchObject({ code, message: expect.stringContaining(message) as unknown });
    expect(await player.says(agentId, 'hello')).toMatchObject({ status: 'SUCCESS', text: 'You said: hello' });
  });

  it('one bad field refuses the good ones beside it', async () => {
    await using player = await connect();
    const agentId = await player.makes(chat());
    expect(refusal(await changes(player, agentId, 'answer', { stream: false, hold: 'maybe' })).code).toBe(3007);
    const { frames } = await player.says(agentId, 'hello');
    expect(frames[0]).toMatchObject({ answerText: { isDelta: true } });
  });

  it('but not while one runs', async () => {
    await using player = await connect();
    const agentId = await player.makes(chat());
    const slow = player.sends('sendMessage', { agentId, text: 'slowly' });
    expect(refusal(await changes(player, agentId, 'answer', { stream: false }))).toMatchObject({ code: 3004 });
    slowly.open();
    expect(await player.told(slow)).toMatchObject({ status: 'SUCCESS' });
  });

  it('what a change makes doubtful is a warning of the next turn', async () => {
    await using player = await connect();
    const agentId = await player.makes(guarded(['attack']));
    await player.asks('createStringStorage', { name: 'empty', kind: 'LIST', strings: [] });
    await changes(player, agentId, 'guard', { string_storage: 'empty' });
    expect(await player.says(agentId, 'attack')).toMatchObject({
      text: 'You said: attack',
      warnings: expect.arrayContaining(['guard has no pattern: this Guardrail never triggers']) as unknown,
    });
    expect(await player.says(agentId, 'attack')).toMatchObject({ warnings: [] });
  });
});
