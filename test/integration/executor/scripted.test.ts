import { describe, expect, it } from 'vitest';
import {
  scriptedExecutor,
  toolResult,
  type Client,
  type ScriptedCall,
  type ScriptedExecutor,
} from '../../../src/client/index.ts';
import { codecs } from '../../helpers/depth.ts';
import { openClient, resultsIn, weatherEngine } from '../../helpers/executorGraphs.ts';
import { chatmlCall, scriptedEngine, weather } from '../../helpers/resultGraphs.ts';
import { useServer } from '../../helpers/server.ts';

const engine = weatherEngine();
const server = useServer({ engines: { mock: engine } });
const butler = scriptedEngine([
  { match: 'tea', node: 'serve', nth: 1, answer: chatmlCall('find_person', { person: 'Ada' }) },
  { match: 'tea', node: 'serve', nth: 2, answer: chatmlCall('bring_item', { item: 'tea', room: 'library' }) },
  { match: 'tea', node: 'serve', nth: 3, answer: 'Done.' },
  { match: 'tea', node: 'report', answer: 'Tea is in the library, madam.' },
]);
const house = useServer({ engines: { mock: butler } });

const left = ({ unexpected, unused }: ScriptedExecutor) => ({
  unexpected: unexpected.map(({ toolName, arguments: args }) => [toolName, args]),
  unused,
});

describe.each(codecs)('over %s, a scripted executor', (codec) => {
  const open = (): Promise<Client> => openClient(server().url, { codec });
  const runTurn = async (message: string, script: readonly ScriptedCall[]) => {
    await using client = await open();
    const agent = await client.createAgent({ graph: weather() });
    const tools = scriptedExecutor(script);
    await agent.send(message, { tools });
    return { results: resultsIn(engine), ...left(tools) };
  };

  it('plays the whole loop of a graph, without a model and without tools', async () => {
    await using client = await openClient(house().url, { codec });
    const agent = await client.createAgent({ graphName: 'butler' });
    const tools = scriptedExecutor([
      { tool: 'find_person', arguments: { person: 'Ada' }, result: 'library' },
      { tool: 'bring_item', arguments: { room: 'library', item: 'tea' } },
    ]);
    const { text, path, warnings } = await agent.send('Bring Ada some tea.', { tools });
    expect(text).toBe('Tea is in the library, madam.');
    expect(path.map(({ nodeName, exit }) => `${nodeName}:${exit}`)).toEqual([
      'select:matched',
      'serve:tool_called',
      'select:matched',
      'serve:tool_called',
      'select:matched',
      'serve:no_tool_called',
      'report:default',
    ]);
    expect(warnings).toEqual([]);
    expect(left(tools)).toEqual({ unexpected: [], unused: [] });
    expect(resultsIn(butler)).toEqual(['library', 'ok']);
  });

  it('gives each call the first entry that fits and is not used up', async () => {
    const script = [
      { tool: 'get_weather', arguments: { city: 'Oslo' }, result: 'snow' },
      { tool: 'get_weather', result: toolResult('sun', { lifespan: 'DIALOG' }), times: 2 },
    ] as const;
    expect(await runTurn('three', script)).toEqual({ results: ['sun', 'snow', 'sun'], unexpected: [], unused: [] });
  });

  it('throws the error of an entry', async () => {
    const script = [
      { tool: 'get_weather', error: 'no route', times: 2 },
      { tool: 'get_weather', error: new Error('closed') },
    ];
    expect(await runTurn('three', script)).toMatchObject({
      results: ['Error: no route', 'Error: no route', 'Error: closed'],
    });
  });

  it.each<[string, readonly ScriptedCall[], readonly string[]]>([
    ['an empty one', [], ['Paris', 'Oslo', 'Rome']],
    [
      'one for other arguments',
      [{ tool: 'get_weather', arguments: { city: 'Rome', day: 1 } }],
      ['Paris', 'Oslo', 'Rome'],
    ],
    ['one that is used up', [{ tool: 'get_weather' }], ['Oslo', 'Rome']],
  ])('fails the calls that are not in its script and lists them: %s', async (_, script, cities) => {
    const { results, unexpected } = await runTurn('three', script);
    expect(unexpected).toEqual(cities.map((city) => ['get_weather', { city }]));
    expect(results.slice(-1)).toEqual(['Error: the script has no result for get_weather({"city":"Rome"})']);
  });

  it('lists a call of a tool that the node does not offer', async () => {
    const { results, unexpected } = await runTurn('fly', [{ tool: 'get_weather' }]);
    expect(results).toEqual(['Error: detect offers no tool "fly"']);
    expect(unexpected).toEqual([['fly', { to: 'Paris' }]]);
  });

  it('lists what its script has left', async () => {
    const script = [
      { tool: 'get_weather', arguments: { city: 'Paris' }, times: 3 },
      { tool: 'get_weather', times: Infinity },
      { tool: 'find_person', times: Infinity },
      { tool: 'get_weather' },
    ];
    const { unused } = await runTurn('three', script);
    expect(unused).toEqual([
      { tool: 'get_weather', arguments: { city: 'Paris' }, times: 2 },
      { tool: 'find_person', times: Infinity },
      { tool: 'get_weather', times: 1 },
    ]);
  });

  it('has the hooks of any executor', async () => {
    await using client = await open();
    const agent = await client.createAgent({ graph: weather() });
    const tools = scriptedExecutor([{ tool: 'get_weather' }], { before: () => ({ block: 'night' }) });
    await agent.send('Paris', { tools });
    expect(resultsIn(engine)).toEqual(['Error: not run: night']);
    expect(tools.unused).toHaveLength(1);
  });
});

describe('the script of an executor', () => {
  it.each<[string, () => unknown]>([
    // @ts-expect-error: no list
    ['scriptedExecutor.script must be a list, not an object', () => scriptedExecutor({})],
    // @ts-expect-error: no tool
    ['scriptedExecutor.script[0].tool is missing: give the name of a tool', () => scriptedExecutor([{ result: 'x' }])],
    [
      'scriptedExecutor.script[1].argments is not known here; did you mean "arguments"?',
      // @ts-expect-error: misspelt
      () => scriptedExecutor([{ tool: 'a' }, { tool: 'a', argments: {} }]),
    ],
    [
      'scriptedExecutor.script[0].times must be a whole number from 1, not 0',
      () => scriptedExecutor([{ tool: 'a', times: 0 }]),
    ],
    [
      'scriptedExecutor.script[0] has result and error; give one of them',
      () => scriptedExecutor([{ tool: 'a', result: 1, error: 'x' }]),
    ],
    // @ts-expect-error: misspelt
    ['executor.befor is not known here; did you mean "before"?', () => scriptedExecutor([], { befor: () => {} })],
  ])('is refused: %s', (message, create) => {
    expect(create).toThrow(expect.objectContaining({ code: 5001, message }));
  });
});
