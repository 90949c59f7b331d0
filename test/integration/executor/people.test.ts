import { describe, expect, it } from 'vitest';
import { executor, toolResult, type AnswerText, type Client } from '../../../src/client/index.ts';
import { codecs } from '../../helpers/depth.ts';
import { openClient, resultsIn, weatherEngine } from '../../helpers/executorGraphs.ts';
import { weather } from '../../helpers/resultGraphs.ts';
import { useServer } from '../../helpers/server.ts';

const engine = weatherEngine();
const server = useServer({ engines: { mock: engine } });

describe.each(codecs)('a tool over %s', (codec) => {
  const open = (): Promise<Client> => openClient(server().url, { codec });

  it('reports progress in its turn, which is no part of the answer', async () => {
    await using client = await open();
    const agent = await client.createAgent({ graph: weather() });
    const tools = executor({
      get_weather: {
        run: async (_, context) => {
          await context.agent.appendText('Looking it up.', { notify: true });
          return 'sun';
        },
      },
    });
    const shown: (readonly [string, AnswerText['source']])[] = [];
    const turn = agent.send('Paris', { tools, onText: (piece, { source }) => shown.push([piece, source]) });
    expect((await turn).text).toBe('It is fine.');
    expect(shown[0]).toEqual(['Looking it up.', 'client']);
    const pieces: string[] = [];
    for await (const piece of turn.text) pieces.push(piece);
    expect(pieces.join('')).toBe('It is fine.');
    const lines = (JSON.parse(await agent.exportDialog()) as { user: string; assistant: string }[]).map(
      ({ user, assistant }) => user + assistant,
    );
    expect(lines).toEqual(['Paris', 'Looking it up.', 'It is fine.']);
  });

  it('leaves to the program what is said between turns', async () => {
    await using client = await open();
    const agent = await client.createAgent({ graph: weather() });
    expect(await agent.appendText('The door opens.', { notify: true })).toBe('The door opens.');
    expect(await agent.appendText('The door closes.')).toBe('');
  });

  it.each([
    ['with an answer', 'We are closed.', 'We are closed.'],
    ['without one', undefined, ''],
  ])('ends its turn in order, %s', async (_, answer, text) => {
    await using client = await open();
    const agent = await client.createAgent({ graph: weather({ spoken: 'It was evening.' }) });
    const run = ({ city }: Readonly<Record<string, unknown>>, { call }: { call: { stop(text?: string): void } }) => {
      if (city === 'Oslo') call.stop(answer);
      return city === 'Oslo' ? 'evening' : new Promise<string>(() => {});
    };
    const turn = agent.send('three of them', { tools: executor({ get_weather: { run } }) });
    const { status, path, warnings, ...summary } = await turn;
    expect([status, summary.text, warnings]).toEqual(['SUCCESS', text, []]);
    expect(path).toEqual([{ nodeName: 'detect', exit: 'tool_called' }]);
    expect((await turn.toolsDone).map(({ state }) => state)).toEqual(['failed', 'completed', 'failed']);
    const [entry] = JSON.parse(await agent.exportDialog()) as { assistant: string; spoken?: string }[];
    expect([entry?.assistant, entry?.spoken]).toEqual([text, answer ? undefined : 'It was evening.']);
  });

  it('cannot end a turn that does not wait for it', async () => {
    await using client = await open();
    const agent = await client.createAgent({ graph: weather({ await_results: false }) });
    const tools = executor({ get_weather: { run: (_, { call }) => call.stop('Bye.') } });
    const turn = agent.send('Paris', { tools });
    expect((await turn).text).toBe('It is fine.');
    expect(await turn.toolsDone).toMatchObject([
      { state: 'failed', result: { content: expect.stringContaining('set await_results') as unknown } },
    ]);
  });

  it.each([[true], [false]])('hands over to people, where await_results is %s', async (await_results) => {
    await using client = await open();
    const agent = await client.createAgent({ graph: weather({ await_results }) });
    const metadata = { ticket: 7 };
    const run = () => toolResult('A person comes.', { control: { mode: 'MANUAL' }, metadata });
    const turn = agent.send('Paris', { tools: executor({ get_weather: { run } }) });
    const summary = await turn;
    await turn.toolsDone;
    if (await_results) {
      expect(summary).toMatchObject({ mode: 'MANUAL', resultMetadata: [{ toolName: 'get_weather', metadata }] });
      expect(resultsIn(engine)).toEqual(['A person comes.']);
    }
    expect(await agent.send('Hello?')).toMatchObject({ mode: 'MANUAL', path: [], text: '' });
    await agent.setAgentMode('AUTO');
    await agent.setVariables({ person: 'Ann' });
    expect(await agent.send('Hello?')).toMatchObject({ mode: 'AUTO', text: 'It is fine.' });
    const refused = agent.setAgentMode('SHARED' as 'AUTO');
    await expect(refused).rejects.toThrow('setAgentMode.mode must be one of AUTO, MANUAL, not "SHARED"');
  });

  it('has the times at which it began and ended, and one that did not run has its end', async () => {
    await using client = await open();
    const agent = await client.createAgent({ graph: weather() });
    const before = Date.now();
    const run = async () => 'sun';
    const options = { before: (call: { callIndex: number }) => (call.callIndex === 1 ? { block: 'no' } : undefined) };
    const turn = agent.send('three of them', { tools: executor({ get_weather: { run } }, options) });
    const [first, blocked] = await turn.toolsDone;
    expect([first?.state, blocked?.state]).toEqual(['completed', 'blocked']);
    expect(first?.startedAt).toBeGreaterThanOrEqual(before);
    expect(first?.completedAt).toBeGreaterThanOrEqual(first?.startedAt ?? NaN);
    expect(blocked?.startedAt).toBe(blocked?.completedAt);
  });
});
