import { beforeEach, describe, expect, it } from 'vitest';
import { chat, guarded, lamp } from '../helpers/graphs.ts';
import { useServer, TestClient, errorOf, subprotocols } from '../helpers/server.ts';
import { Gate } from '../helpers/gate.ts';

const slowAnswer = new Gate();
beforeEach(() => slowAnswer.close());

const server = useServer({ script: [{ match: 'slowly', answer: 'one two three', gate: slowAnswer }] });

describe.each(subprotocols)('over %s, between turns', (subprotocol) => {
  const connect = (): Promise<TestClient> => TestClient.connect(server().url, subprotocol);
  const changeParams = (client: TestClient, agentId: number, nodeName: string, params: unknown) =>
    client.request('changeParams', { agentId, nodeName, paramsJson: JSON.stringify(params) });

  it('a template changes, and null restores its default', async () => {
    await using client = await connect();
    const agentId = await client.createAgent(chat({ placement: 'in_place_of_user' }));
    expect(await changeParams(client, agentId, 'answer', { template: 'HEAR: {{user_message}}' })).toMatchObject({
      body: 'ack',
    });
    expect(await client.sendMessage(agentId, 'hello')).toMatchObject({ text: 'You said: HEAR: hello' });
    await changeParams(client, agentId, 'answer', { template: null });
    expect(await client.sendMessage(agentId, 'hello')).toMatchObject({ text: 'You said: hello' });
  });

  it('objects merge one level deep, and null in them restores a default', async () => {
    await using client = await connect();
    const agentId = await client.createAgent(chat({ sampling: { max_tokens: 2, stop: ['llo'] } }));
    expect(await client.sendMessage(agentId, 'hello')).toMatchObject({ text: 'You said', stopReason: 'LENGTH' });
    await changeParams(client, agentId, 'answer', { sampling: { max_tokens: null } });
    expect(await client.sendMessage(agentId, 'hello')).toMatchObject({ text: 'You said: he', stopReason: 'STOP' });
    await changeParams(client, agentId, 'answer', { sampling: null });
    expect(await client.sendMessage(agentId, 'hello')).toMatchObject({ text: 'You said: hello', stopReason: 'END' });
  });

  it('parameters that are no JSON are refused with the place of the mistake', async () => {
    await using client = await connect();
    const agentId = await client.createAgent(chat());
    const refusal = async (paramsJson: string) =>
      errorOf(await client.request('changeParams', { agentId, nodeName: 'answer', paramsJson })).message;
    expect(await refusal('{"stream": false,}')).toMatch(
      /^changeParams\.paramsJson is not valid JSON at 1:17: .+; give the parameters to change$/,
    );
    expect(await refusal('{"sampling": {"seed": 1e999}}')).toMatch(/ at 1:23: a number beyond 1\.8e308;/);
    expect(await refusal('{"stream": true, "stream": false}')).toMatch(
      / has the name "stream" twice in one object at 1:18;/,
    );
    expect(await refusal('[]')).toBe('changeParams.paramsJson must be a JSON object; give the parameters to change');
  });

  it('tools are no longer in the prompt when tool_choice becomes none', async () => {
    await using client = await connect();
    const agentId = await client.createAgent(lamp());
    expect((await client.sendMessage(agentId, 'hello')).tokensPrompt).toBeGreaterThan(50);
    await changeParams(client, agentId, 'detect', { tool_choice: 'none' });
    expect((await client.sendMessage(agentId, 'hello')).tokensPrompt).toBeLessThan(50);
  });

  it('tools change, and the prompt has the new ones from the next turn on', async () => {
    await using client = await connect();
    const agentId = await client.createAgent(lamp());
    const tool = (description: string) => ({ name: 'ring', description, parameters: [] });
    const tokensWith = async (description: string): Promise<number> => {
      expect(await changeParams(client, agentId, 'detect', { tools: [tool(description)] })).toMatchObject({
        body: 'ack',
      });
      await client.request('clearDialog', { agentId });
      const [detect] = (await client.sendMessage(agentId, 'hello')).path;
      expect(detect).toEqual({ nodeName: 'detect', exit: 'no_tool_called' });
      return (await client.sendMessage(agentId, 'hello')).tokensPrompt;
    };
    const short = await tokensWith('Rings.');
    expect(await tokensWith('Rings. '.repeat(100))).toBeGreaterThan(short + 100);
    expect(await tokensWith('Rings.')).toBe(short);
  });

  it.each([
    [
      'a tool that is no tool',
      'detect',
      { tools: [{ name: 'set light', description: 'x' }] },
      3007,
      'detect.params.tools[0].name',
    ],
    [
      'tools without the one that tool_choice names',
      'detect',
      { tool_choice: 'set_light', tools: [{ name: 'ring', description: 'x' }] },
      3007,
      'detect.params.tool_choice must be auto, required, none',
    ],
    [
      'a structural parameter',
      'detect',
      { tool_call_format: 'llama3' },
      3006,
      'detect.params.tool_call_format is fixed when the agent is made',
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
      'answer.params.system_prompt is not a valid Mustache template',
    ],
    [
      'a bias that is neither a number nor false',
      'answer',
      { sampling: { logit_bias: { no: true } } },
      3007,
      'answer.params.sampling.logit_bias.no must be a number from -100 to 100 or false, not true',
    ],
    [
      'a member of DRY',
      'answer',
      { sampling: { dry: { base: 0 } } },
      3007,
      'answer.params.sampling.dry.base must be >= 1',
    ],
    ['a node that does not exist', 'anwser', { stream: false }, 3005, 'did you mean "answer"?'],
    ['a value that is no object', 'answer', [1], 3007, 'must be a JSON object'],
  ])('%s is rejected, and nothing changes', async (_, nodeName, params, code, message) => {
    await using client = await connect();
    const agentId = await client.createAgent(lamp());
    const answer = errorOf(await changeParams(client, agentId, nodeName, params));
    expect(answer).toMatchObject({ code, message: expect.stringContaining(message) as unknown });
    expect(await client.sendMessage(agentId, 'hello')).toMatchObject({ status: 'SUCCESS', text: 'You said: hello' });
  });

  it('one invalid field rejects the valid ones with it', async () => {
    await using client = await connect();
    const agentId = await client.createAgent(chat());
    expect(errorOf(await changeParams(client, agentId, 'answer', { stream: false, hold: 'maybe' })).code).toBe(3007);
    const { frames } = await client.sendMessage(agentId, 'hello');
    expect(frames[0]).toMatchObject({ answerText: { isDelta: true } });
  });

  it('parameters cannot change while a turn runs', async () => {
    await using client = await connect();
    const agentId = await client.createAgent(chat());
    const slow = client.send('sendMessage', { agentId, text: 'slowly' });
    expect(errorOf(await changeParams(client, agentId, 'answer', { stream: false }))).toMatchObject({ code: 3004 });
    slowAnswer.open();
    expect(await client.turnOf(slow)).toMatchObject({ status: 'SUCCESS' });
  });

  it('a doubtful change is a warning of the next turn', async () => {
    await using client = await connect();
    const agentId = await client.createAgent(guarded(['attack']));
    await client.request('createStringStorage', { name: 'empty', kind: 'LIST', strings: [] });
    await changeParams(client, agentId, 'guard', { string_storage: 'empty' });
    expect(await client.sendMessage(agentId, 'attack')).toMatchObject({
      text: 'You said: attack',
      warnings: expect.arrayContaining(['guard has no pattern: this Guardrail never triggers']) as unknown,
    });
    expect(await client.sendMessage(agentId, 'attack')).toMatchObject({ warnings: [] });
  });
});
