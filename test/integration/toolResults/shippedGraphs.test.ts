import { describe, expect, it } from 'vitest';
import { chatmlCall, lastPrompt, notifications, result, scriptedEngine } from '../../helpers/resultGraphs.ts';
import { subprotocols, TestClient, useServer, type TurnResult } from '../../helpers/server.ts';

const engine = scriptedEngine([
  { match: 'tea', node: 'serve', nth: 1, answer: chatmlCall('find_person', { person: 'aunt' }) },
  { match: 'tea', node: 'serve', nth: 2, answer: chatmlCall('bring_item', { item: 'tea', room: 'library' }) },
  { match: 'tea', node: 'serve', answer: 'All done.' },
  { match: 'tea', node: 'report', answer: 'The tea is in the library.' },
  { match: 'Send money', node: 'detect', answer: chatmlCall('transfer', { amount: 500, recipient: 'Bob' }) },
  { match: 'Send 20', node: 'detect', answer: chatmlCall('transfer', { amount: 20, recipient: 'Ada' }) },
  { match: 'weather', node: 'detect', answer: chatmlCall('get_weather', { city: 'Paris' }) },
  { match: '', answer: 'Hello.' },
]);
const server = useServer({ engines: { mock: engine } });

describe.each(subprotocols)('over %s, the graph', (subprotocol) => {
  const connect = (): Promise<TestClient> => TestClient.connect(server().url, subprotocol);

  /** Plays a turn: answers each call with the next content. A content that begins with "no:" is a failure. */
  async function play(client: TestClient, agentId: number, text: string, ...contents: string[]): Promise<TurnResult> {
    const requestId = client.send('sendMessage', { agentId, text });
    for (const [index, content] of contents.entries()) {
      const call = (await notifications(client, requestId, index + 1))[index];
      const ok = !content.startsWith('no:');
      await client.request('submitToolResults', { agentId, results: [result({ ...call, ok, content })] });
    }
    return await client.turnOf(requestId);
  }

  it('weather answers with the result of its call', async () => {
    await using client = await connect();
    const agentId = await client.createAgent('weather');
    const turn = await play(client, agentId, 'How is the weather?', '18 degrees');
    expect(turn).toMatchObject({ steps: 'detect:tool_called answer:default', warnings: [] });
    expect(lastPrompt(engine).at(-1)).toContain('18 degrees');
  });

  it('butler finds a person, then brings something to that room', async () => {
    await using client = await connect();
    const agentId = await client.createAgent('butler');
    const turn = await play(client, agentId, 'Bring tea to my aunt.', 'library', 'brought');
    expect(turn.calls.map(({ toolName, because }) => [toolName, because])).toEqual([
      ['find_person', 'search'],
      ['bring_item', 'delivery'],
    ]);
    expect(turn).toMatchObject({
      steps:
        'select:matched serve:tool_called select:matched serve:tool_called select:matched serve:no_tool_called report:default',
      text: 'The tea is in the library.',
      warnings: [],
    });
  });

  it('butler offers nothing to bring until he knows where the person is', async () => {
    await using client = await connect();
    const agentId = await client.createAgent('butler');
    const offered = async (text: string, ...contents: string[]) => {
      const start = engine.prompts.length;
      const { steps } = await play(client, agentId, text, ...contents);
      const names = engine.prompts
        .slice(start)
        .flatMap(({ tools }) => (tools ? [tools.definitions.map(({ function: { name } }) => name)] : []));
      return { names, steps };
    };
    expect((await offered('Bring tea to my aunt.', 'no: she is not at home')).names).toEqual([
      ['find_person'],
      ['find_person'],
    ]);
    expect(await offered('Thank you.')).toEqual({ names: [], steps: 'select:none_matched report:default' });
    expect((await offered('Bring tea to my aunt.', 'library', 'brought')).names).toEqual([
      ['find_person'],
      ['find_person', 'bring_item'],
      ['find_person', 'bring_item'],
    ]);
  });

  it('bank-teller asks for what the customer has not said, and reports what was done or refused', async () => {
    await using client = await connect();
    const agentId = await client.createAgent('bank-teller');
    const asked = await play(client, agentId, 'Send money.');
    expect(asked).toMatchObject({ calls: [], text: expect.stringContaining('who should get it') as unknown });
    const sent = await play(client, agentId, 'Send 20 coins to Ada.', '20 sent to Ada');
    expect(sent.calls).toMatchObject([{ toolName: 'transfer', consequential: true, awaitsResult: true }]);
    expect(sent.text).toBe('transfer: 20 sent to Ada. ');
    const refused = await play(client, agentId, 'Send 20 coins to Ada, now.', 'no: the customer declined');
    expect(refused.text).toBe('I did not do that: no: the customer declined. ');
  });
});
