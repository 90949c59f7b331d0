import { setImmediate as yieldToEventLoop } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import { executor, toolResult, type AgentHandle, type Client } from '../../../src/client/index.ts';
import { codecs } from '../../helpers/depth.ts';
import { openClient, weatherEngine } from '../../helpers/executorGraphs.ts';
import { Gate } from '../../helpers/gate.ts';
import { lastPrompt, weather } from '../../helpers/resultGraphs.ts';
import { useServer } from '../../helpers/server.ts';

const engine = weatherEngine();
const server = useServer({ engines: { mock: engine } });

/** A graph that does not wait for results: the next message shows them. */
const graph = (() => {
  const { nodes, ...others } = weather({ await_results: false });
  const answer = {
    type: 'Generate',
    params: { system_prompt: 'Results: {{#previous_tool_results}}{{.}}{{/previous_tool_results}}' },
  };
  return { ...others, nodes: { ...nodes, answer } };
})();

const sunny = executor({ get_weather: { run: ({ city }) => `sun in ${String(city)}` } });
const entry = (city: string, content: string, ok = true) =>
  JSON.stringify({ name: 'get_weather', arguments: { city }, ok, content });
const shown = (): string | undefined => lastPrompt(engine)[0]?.replace('system: ', '');

describe.each(codecs)('over %s, the results of a turn that does not wait for them', (codec) => {
  const open = (): Promise<Client> => openClient(server().url, { codec });
  const openAgent = (client: Client): Promise<AgentHandle> => client.createAgent({ graph });

  it('go with the next message, in the order of the calls, and not with the one after it', async () => {
    await using client = await open();
    const agent = await openAgent(client);
    const turn = await agent.send('three of them', { tools: sunny });
    expect(turn).toMatchObject({ text: 'It is fine.', warnings: [] });
    expect(shown()).toBe('Results: ');
    await agent.send('Thanks.');
    const [paris, oslo, rome] = ['Paris', 'Oslo', 'Rome'].map((city) => entry(city, `sun in ${city}`));
    expect(shown()).toBe(`Results: [${paris}, ${oslo}, ${rome}]`);
    await agent.send('Bye.');
    expect(shown()).toBe('Results: ');
  });

  it('of a plain function are there when the turn ends', async () => {
    await using client = await open();
    const agent = await openAgent(client);
    const cities: unknown[] = [];
    await agent.send('three of them', { tools: executor({ get_weather: { run: ({ city }) => cities.push(city) } }) });
    expect(cities).toEqual(['Paris', 'Oslo', 'Rome']);
  });

  it('that waited in vain has the result with the next message, as what the tool has done counts', async () => {
    await using client = await open();
    const { nodes, ...others } = weather({ results_timeout_ms: 50 });
    const agent = await client.createAgent({ graph: { ...others, nodes: { ...nodes, answer: graph.nodes.answer } } });
    const gate = new Gate();
    const done = gate.closed;
    const tools = executor({
      get_weather: {
        run: async () => {
          await done;
          return 'sent';
        },
      },
    });
    const turn = agent.send('Paris', { tools });
    const states: string[] = [];
    for await (const update of turn) if (update.type === 'tool') states.push(update.state);
    expect((await turn).path.at(-1)?.nodeName).toBe('sorry');
    expect(states).toEqual(['started']);
    gate.open();
    await yieldToEventLoop();
    await agent.send('Thanks.');
    expect(shown()).toBe(`Results: [${entry('Paris', 'sent')}]`);
  });

  it('show the arguments as the model wrote them, whatever a tool has made of them', async () => {
    await using client = await open();
    const agent = await openAgent(client);
    const run = (args: Record<string, unknown>): string => {
      Object.assign(args, { city: 'Bonn', visits: 1n, self: args });
      return 'sun';
    };
    await agent.send('Paris', { tools: executor({ get_weather: { run } }) });
    await agent.send('Thanks.');
    expect(shown()).toBe(`Results: [${entry('Paris', 'sun')}]`);
  });

  it('are not lost to a variable of the same name that is undefined', async () => {
    await using client = await open();
    const agent = await openAgent(client);
    await agent.send('Paris', { tools: sunny });
    const variables = { previous_tool_results: undefined } as unknown as Record<string, string>;
    await agent.send('Thanks.', { variables });
    expect(shown()).toBe(`Results: [${entry('Paris', 'sun in Paris')}]`);
  });

  it('say what failed', async () => {
    await using client = await open();
    const agent = await openAgent(client);
    await agent.send('aunt', { tools: sunny });
    await agent.send('Paris', { tools: executor({ get_weather: { run: () => toolResult('no', { ok: false }) } }) });
    const unknown = { name: 'find_person', arguments: { who: 'aunt' }, ok: false };
    expect(shown()).toBe(
      `Results: ${JSON.stringify([{ ...unknown, content: 'no tool "find_person" is registered' }])}`,
    );
    await agent.send('Thanks.');
    expect(shown()).toBe(`Results: [${entry('Paris', 'no', false)}]`);
  });

  it('of a tool that outlasts its turn come later; the next message says that it runs, once', async () => {
    await using client = await open();
    const agent = await openAgent(client);
    const gate = new Gate();
    const signals: AbortSignal[] = [];
    const tools = executor({
      get_weather: {
        run: async (_, { signal }) => {
          signals.push(signal);
          await gate.closed;
          return 'sun';
        },
      },
    });
    const turn = agent.send('Paris', { tools });
    expect((await turn).status).toBe('SUCCESS');
    await agent.send('And?');
    expect(shown()).toBe(
      `Results: [${entry('Paris', 'not finished yet; the result comes with a later message', false)}]`,
    );
    await agent.send('Still?');
    expect(shown()).toBe('Results: ');
    expect(signals[0]?.aborted).toBe(false);
    gate.open();
    expect(await turn.toolsDone).toMatchObject([{ state: 'completed', result: { content: 'sun' } }]);
    await agent.send('Now?');
    expect(shown()).toBe(`Results: [${entry('Paris', 'sun')}]`);
  });

  it.each<[string, (client: Client, agent: AgentHandle) => unknown]>([
    ['the agent is destroyed', (_, agent) => agent.destroy()],
    ['the client is closed', (client) => client.close()],
  ])('are given up when %s', async (_, end) => {
    const client = await open();
    const agent = await openAgent(client);
    const signals: AbortSignal[] = [];
    const tools = executor({
      get_weather: {
        run: (__, { signal }) => {
          signals.push(signal);
          return new Promise(() => {});
        },
      },
    });
    const turn = agent.send('Paris', { tools });
    await turn;
    await end(client, agent);
    expect(signals[0]?.aborted).toBe(true);
    expect(await turn.toolsDone).toMatchObject([{ state: 'failed' }]);
    await client.close();
  });

  it('stay for the next message when one is refused, and when its signal was aborted before', async () => {
    await using client = await open();
    const agent = await openAgent(client);
    await agent.send('Paris', { tools: sunny });
    await expect(agent.send('x'.repeat(300_000)).done).rejects.toMatchObject({ code: 2005 });
    await expect(agent.send('x', { signal: AbortSignal.abort() }).done).rejects.toMatchObject({ name: 'AbortError' });
    // @ts-expect-error: a number
    await expect(agent.send('x', { variables: { hour: 9 } }).done).rejects.toMatchObject({ code: 5001 });
    // @ts-expect-error: a list
    await expect(agent.send('x', { variables: ['hour'] }).done).rejects.toMatchObject({ code: 5001 });
    await agent.send('Thanks.', { variables: { hour: '9' } });
    expect(shown()).toBe(`Results: [${entry('Paris', 'sun in Paris')}]`);
  });

  it('give way to a variable of the same name', async () => {
    await using client = await open();
    const agent = await openAgent(client);
    await agent.send('Paris', { tools: sunny });
    await agent.send('Thanks.', { variables: { previous_tool_results: 'none' } });
    expect(shown()).toBe('Results: none');
    await agent.send('Bye.');
    expect(shown()).toBe('Results: ');
  });

  it('are forgotten with the dialog', async () => {
    await using client = await open();
    const agent = await openAgent(client);
    await agent.send('Paris', { tools: sunny });
    await agent.clearDialog();
    await agent.send('Thanks.');
    expect(shown()).toBe('Results: ');
  });

  it('that do not fit into one message go with several, and one that fits into none is replaced by its size', async () => {
    await using client = await open();
    const agent = await client.createAgent({ graph: weather({ await_results: false }) });
    const sizes = new Map([
      ['Paris', 90_000],
      ['Oslo', 60_000],
      ['Rome', 200_000],
    ]);
    // In the JSON of a string in JSON a quote takes four bytes.
    const run = ({ city }: Readonly<Record<string, unknown>>): string => '"'.repeat((sizes.get(String(city)) ?? 0) / 4);
    await agent.send('three of them', { tools: executor({ get_weather: { run } }) });
    for (const text of ['One.', 'Two.', 'Three.']) await agent.send(text);
    const dialog = JSON.parse(await agent.exportDialog()) as readonly { readonly variables?: Record<string, string> }[];
    const contents = dialog.slice(1).map(({ variables }) => {
      const list = JSON.parse(variables?.['previous_tool_results'] ?? '[]') as readonly { readonly content: string }[];
      return list.map(({ content }) => content.replaceAll(/"+/g, (quotes) => `${quotes.length} quotes`));
    });
    expect(contents).toEqual([
      ['22500 quotes'],
      ['15000 quotes', expect.stringMatching(/^the call and its result have \d+ bytes, and 131072 are allowed/)],
      [],
    ]);
  });
});
