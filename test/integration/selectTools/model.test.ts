import { describe, expect, it } from 'vitest';
import { house, houseGuidelines } from '../../helpers/guidelineGraphs.ts';
import { chatmlCall, notifications, result, scriptedEngine } from '../../helpers/resultGraphs.ts';
import { subprotocols, TestClient, useServer } from '../../helpers/server.ts';

const engine = scriptedEngine([
  { match: 'Message: dim .*\nCondition: .* lights$', node: 'select', scores: { yes: 0.6, no: 0.2 } },
  { match: 'library.*\nCondition: .* kitchen$', node: 'select', scores: { yes: 0.3, no: 0.1 } },
  { match: 'Condition: .* garden$', node: 'select', scores: { yes: 0.1, no: 0.1 } },
  { match: 'Message: wait', node: 'select', scores: { yes: 0.1, no: 0.1 }, delay_ms: 60_000 },
  { match: '', node: 'select', scores: { yes: 0.1, no: 0.9 } },
  { match: 'dim', node: 'serve', nth: 5, answer: chatmlCall('dim_light', { lamp: 'hall' }) },
  { match: '', node: 'serve', answer: 'No call.' },
  { match: '', node: 'answer', answer: 'Very well.' },
]);
const server = useServer({ engines: { mock: engine } });

/** The questions of a SelectTools node since a prompt, as lines of text. */
const questionsSince = (start: number): readonly string[] =>
  engine.prompts
    .slice(start)
    .map(({ messages }) => messages.map(({ role, text }) => `${role}: ${text}`).join('\n'))
    .filter((prompt) => prompt.includes('\nCondition: '));

const instruction = "system: Read the user's message and decide whether a condition holds. Reply with yes or no only.";

describe.each(subprotocols)('over %s, SelectTools with match "model"', (subprotocol) => {
  const connect = (): Promise<TestClient> => TestClient.connect(server().url, subprotocol);
  const graph = (params: object = {}, loops = false) => house({ select: { match: 'model', ...params }, loops });

  it('asks one question for each guideline, after the dialog, with the condition last', async () => {
    await using client = await connect();
    const history = [{ user: 'hi', assistant: 'Good evening.' }];
    const agentId = await client.createAgent(graph(), { historyJson: JSON.stringify(history) });
    const start = engine.prompts.length;
    await client.sendMessage(agentId, 'turn on the porch light');
    expect(questionsSince(start)).toEqual(
      houseGuidelines.map(({ when }) =>
        [
          instruction,
          'user: hi',
          'assistant: Good evening.',
          'user: Message: turn on the porch light',
          `Condition: ${when}`,
        ].join('\n'),
      ),
    );
  });

  it('writes a condition of several lines as one', async () => {
    await using client = await connect();
    const guidelines = [{ name: 'tea', when: ' the user\n  wants\u2028tea ', tools: ['brew_tea'] }];
    const agentId = await client.createAgent(graph({ guidelines }));
    const start = engine.prompts.length;
    await client.sendMessage(agentId, 'tea\nplease');
    expect(questionsSince(start)).toEqual([
      `${instruction}\nuser: Message: tea\nplease\nCondition: the user wants tea`,
    ]);
  });

  it('selects where "yes" is at least as probable as the threshold, of the two answers', async () => {
    await using client = await connect();
    const agentId = await client.createAgent(graph(), { enableDiagnostics: true });
    const selected = async (): Promise<object> => {
      const { events } = await client.sendMessage(agentId, 'dim the hall, please');
      return JSON.parse(events.find(({ eventType }) => eventType === 'tools_selected')?.payloadJson ?? '') as object;
    };
    expect(await selected()).toMatchObject({
      guidelines: [
        { name: 'lights', probability: expect.closeTo(0.75) as unknown },
        { name: 'garden', probability: expect.closeTo(0.5) as unknown },
      ],
      not_matched: [
        { name: 'kitchen', probability: expect.closeTo(0.1) as unknown },
        { name: 'visitors', probability: expect.closeTo(0.1) as unknown },
      ],
    });
    const change = async (threshold: number) => {
      const paramsJson = JSON.stringify({ threshold });
      expect((await client.request('changeParams', { agentId, nodeName: 'select', paramsJson })).body).toBe('ack');
    };
    await change(0.7);
    expect(await selected()).toMatchObject({ guidelines: [{ name: 'lights' }] });
    await change(0.8);
    expect(await selected()).toMatchObject({ guidelines: [], tools: [] });
    await change(0);
    expect(await selected()).toMatchObject({ not_matched: [] });
  });

  it('does not look at patterns, and takes none_matched where no condition holds', async () => {
    await using client = await connect();
    const agentId = await client.createAgent(graph({ threshold: 0.8 }));
    const turn = await client.sendMessage(agentId, 'The kitchen, and the visitors!');
    expect(turn).toMatchObject({ steps: 'select:none_matched serve:no_tool_called answer:default', warnings: [] });
  });

  it('evaluates the common prefix of its questions once, and that of the next turn, too', async () => {
    await using client = await connect();
    const agentId = await client.createAgent(graph({ threshold: 1 }), { enableDiagnostics: true });
    const inferences = async () => {
      const { debugInfo } = await client.sendMessage(agentId, 'turn on the porch light');
      const { inferences: all } = JSON.parse(debugInfo) as { readonly inferences: readonly Inference[] };
      return all.filter(({ node }) => node === 'select');
    };
    const first = await inferences();
    expect(first).toHaveLength(4);
    for (const { tokens } of first.slice(1)) expect(tokens.reused).toBeGreaterThan(tokens.prompt / 2);
  });

  it.each([
    ['a result', true, 'library is dim'],
    ['a call that failed', false, 'Error: library is dim'],
  ])('asks again with the results of the turn: %s', async (_, ok, written) => {
    await using client = await connect();
    const agentId = await client.createAgent(graph({}, true));
    const start = engine.prompts.length;
    const requestId = client.send('sendMessage', { agentId, text: 'dim it' });
    const [call] = await notifications(client, requestId, 1);
    expect(call).toMatchObject({ toolName: 'dim_light', because: 'lights' });
    await client.request('submitToolResults', {
      agentId,
      results: [result({ ...call, ok, content: 'library is dim' })],
    });
    const turn = await client.turnOf(requestId);
    expect(turn.steps).toBe('select:matched serve:tool_called select:matched serve:no_tool_called answer:default');
    expect(questionsSince(start)[5]).toBe(
      [
        instruction,
        'user: Message: dim it',
        `Results: dim_light {"lamp": "hall"}: ${written}`,
        'Condition: the user speaks of the kitchen',
      ].join('\n'),
    );
    const offered = engine.prompts
      .slice(start)
      .flatMap(({ tools }) => (tools ? [tools.definitions.map(({ function: f }) => f.name)] : []));
    // The script answers "no" for the lights once the question has a result.
    const [lights, kitchen, garden] = houseGuidelines.map(({ tools }) => tools);
    expect(offered).toEqual([
      [...(lights ?? []), ...(garden ?? [])],
      [...(kitchen ?? []), ...(garden ?? [])],
    ]);
  });

  it('stops in the middle of its questions when the turn is cancelled', async () => {
    await using client = await connect();
    const agentId = await client.createAgent(graph({ threshold: 1 }), { enableDiagnostics: true });
    const start = engine.prompts.length;
    const requestId = client.send('sendMessage', { agentId, text: 'wait' });
    await client.receive('nodeEvent');
    await client.request('cancelTurn', { agentId });
    expect(await client.turnOf(requestId)).toMatchObject({ status: 'CANCELLED', path: [] });
    expect(questionsSince(start).length).toBeLessThan(4);
  });
});

interface Inference {
  readonly node: string;
  readonly tokens: { readonly prompt: number; readonly reused: number };
}
