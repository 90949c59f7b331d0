import { setTimeout as sleep } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import { executor, toolResult, type Client, type ToolEvent, type ToolRegistration } from '../../../src/client/index.ts';
import { codecs } from '../../helpers/depth.ts';
import { eventTexts, openClient, resultsIn, weatherEngine } from '../../helpers/executorGraphs.ts';
import { Gate } from '../../helpers/gate.ts';
import { weather } from '../../helpers/resultGraphs.ts';
import { useServer } from '../../helpers/server.ts';

const engine = weatherEngine();
const server = useServer({ engines: { mock: engine } });

const cyclic: Record<string, unknown> = {};
cyclic['self'] = cyclic;
class Broken {
  toJSON(): never {
    throw new Error('the sensor is gone');
  }
}

describe.each(codecs)('an executor over %s', (codec) => {
  const open = (): Promise<Client> => openClient(server().url, { codec });
  /** Runs one turn with a tool `get_weather`. Returns what the model read as its result. */
  const resultOf = async (run: () => unknown, message = 'Paris'): Promise<string | undefined> => {
    await using client = await open();
    const agent = await client.createAgent({ graph: weather() });
    await agent.send(message, { tools: executor({ get_weather: { run } }) });
    return resultsIn(engine)[0];
  };

  it('runs a call and gives its result to the turn, whose model answers with it', async () => {
    await using client = await open();
    const agent = await client.createAgent({ graph: weather() });
    const given: unknown[] = [];
    const tools = executor({ get_weather: { run: (...all) => (given.push(...all), { degrees: 18 }) } });
    const turn = agent.send('How is it in Paris?', { tools });
    expect(await turn).toMatchObject({ text: 'It is fine.', warnings: [] });
    expect(given).toMatchObject([
      { city: 'Paris' },
      { signal: expect.any(AbortSignal) as unknown, call: (await turn).calls[0] },
    ]);
    expect(resultsIn(engine)).toEqual(['{"degrees":18}']);
    const result = { ok: true, content: '{"degrees":18}', lifespan: 'TURN' };
    const times = { startedAt: expect.any(Number) as unknown, completedAt: expect.any(Number) as unknown };
    expect(await turn.toolsDone).toEqual([{ call: (await turn).calls[0], state: 'completed', result, ...times }]);
  });

  it('needs no executor where there are only functions', async () => {
    await using client = await open();
    const agent = await client.createAgent({ graph: weather() });
    const tools = { get_weather: ({ city }: Readonly<Record<string, unknown>>) => `sun in ${String(city)}` };
    expect((await agent.send('How is it in Paris?', { tools })).text).toBe('It is fine.');
    expect(resultsIn(engine)).toEqual(['sun in Paris']);
  });

  it('starts three calls of one reply before one ends, and gives the results in the order of the calls', async () => {
    await using client = await open();
    const agent = await client.createAgent({ graph: weather() });
    const gates = new Map<unknown, Gate>();
    const order: string[] = [];
    const run = async ({ city }: Readonly<Record<string, unknown>>): Promise<string> => {
      order.push(`start ${String(city)}`);
      const gate = new Gate();
      gates.set(city, gate);
      if (gates.size === 3) gates.get('Rome')?.open();
      await gate.closed;
      order.push(`end ${String(city)}`);
      gates.get(city === 'Rome' ? 'Oslo' : 'Paris')?.open();
      return `sun in ${String(city)}`;
    };
    const turn = agent.send('three of them', { tools: executor({ get_weather: { run } }) });
    expect((await turn).status).toBe('SUCCESS');
    expect(order).toEqual(['start Paris', 'start Oslo', 'start Rome', 'end Rome', 'end Oslo', 'end Paris']);
    expect(resultsIn(engine)).toEqual(['sun in Paris', 'sun in Oslo', 'sun in Rome']);
    expect((await turn.toolsDone).map(({ call }) => call.arguments['city'])).toEqual(['Paris', 'Oslo', 'Rome']);
  });

  it.each([
    [1, ['started', 'completed', 'started', 'completed', 'started', 'completed']],
    [2, ['started', 'started', 'completed', 'started', 'completed', 'completed']],
  ])('runs at most %i at the same time, in the order of the calls', async (concurrency, states) => {
    await using client = await open();
    const agent = await client.createAgent({ graph: weather() });
    const events: ToolEvent[] = [];
    const tools = executor(
      { get_weather: { run: async ({ city }) => sleep(city === 'Oslo' ? 30 : city === 'Paris' ? 1 : 60) } },
      { concurrency, onEvent: (event) => events.push(event) },
    );
    await agent.send('three of them', { tools });
    expect(events.map(({ state }) => state)).toEqual(states);
    const started = events.filter(({ state }) => state === 'started');
    expect(eventTexts(started)).toEqual(['Paris', 'Oslo', 'Rome'].map((city) => `started get_weather(${city})`));
  });

  it('chains: the second call runs when the model has the result of the first', async () => {
    await using client = await open();
    const agent = await client.createAgent({ graph: weather({}, { loops: true }) });
    const tools = executor({
      find_person: { run: () => 'Oslo' },
      get_weather: { run: ({ city }) => `snow in ${String(city)}` },
    });
    const { calls, path } = await agent.send('What is the weather where my aunt is?', { tools });
    expect(calls.map(({ toolName, callIndex }) => [toolName, callIndex])).toEqual([
      ['find_person', 0],
      ['get_weather', 1],
    ]);
    expect(path.map(({ exit }) => exit)).toEqual(['tool_called', 'tool_called', 'no_tool_called', 'default']);
    expect(resultsIn(engine)).toEqual(['Oslo', 'snow in Oslo']);
  });

  it.each([
    ['a text', () => 'sunny', 'sunny'],
    ['an empty text', () => '', ''],
    ['nothing', () => undefined, 'ok'],
    ['a promise of nothing', async () => {}, 'ok'],
    ['null', () => null, 'null'],
    ['a number', () => 18.5, '18.5'],
    ['a list', () => ['sun', { wind: false }], '["sun",{"wind":false}]'],
    ['a date', () => new Date(0), '"1970-01-01T00:00:00.000Z"'],
    ['members that are undefined', () => ({ sun: true, wind: undefined }), '{"sun":true}'],
    ['a text that was cut inside a character', () => '🌞'.slice(0, 1), '\uFFFD'],
    ['a failure', () => toolResult('no station', { ok: false }), 'Error: no station'],
    ['a failure as JSON', () => toolResult({ code: 404 }, { ok: false }), '{"code":404}'],
  ])('gives the model %s as a result', async (_, run, content) => {
    expect(await resultOf(run)).toBe(content);
  });

  it.each([
    [
      'an exception',
      () => {
        throw new Error('the station is closed');
      },
      'Error: the station is closed',
    ],
    ['a rejection', () => Promise.reject(new Error('no route')), 'Error: no route'],
    [
      'an exception that is no error',
      () => {
        throw 'closed';
      },
      'Error: closed',
    ],
    [
      'an exception without a message',
      () => {
        throw new Error();
      },
      'Error: the tool failed',
    ],
    [
      'an exception that is no text',
      () => {
        throw Object.create(null);
      },
      'Error: the tool failed',
    ],
    [
      'a cycle',
      () => cyclic,
      'Error: get_weather.result cannot be written as JSON: Converting circular structure to JSON',
    ],
    ['a BigInt', () => ({ degrees: 18n }), 'Error: get_weather.result.degrees must be a JSON value, not 18n'],
    ['a function', () => () => 18, 'Error: get_weather.result must be a JSON value, not a function'],
    ['a Map', () => new Map(), 'Error: get_weather.result must be a plain object, not an instance of Map'],
    ['no number', () => NaN, 'Error: get_weather.result must be a finite number, not NaN'],
    ['JSON that cannot be made', () => new Broken(), 'Error: the sensor is gone'],
    [
      'a misspelt option',
      () => toolResult('x', { okay: true } as object),
      'Error: toolResult.okay is not known here; did you mean "ok"?',
    ],
    ['more than 256 KiB', () => 'é'.repeat(131_073), 'Error: the result has 262146 bytes, and 262144 are allowed'],
    [
      'an error of more than 256 KiB',
      () => {
        throw new Error('x'.repeat(262_145));
      },
      'Error: the error has 262145 bytes, and 262144 are allowed',
    ],
  ])('gives the model a failure for %s', async (_, run, content) => {
    expect(await resultOf(run)).toBe(content);
  });

  it('gives the model a failure for a result that no frame can hold, and does not wait for it', async () => {
    // In JSON each of these characters takes six bytes; in protobuf it fits into the frame, but into no prompt.
    const result = resultOf(() => '\u0001'.repeat(200_000));
    if (codec === 'proto') await expect(result).rejects.toMatchObject({ code: 4004 });
    else expect(await result).toMatch(/^Error: submitToolResults has \d+ bytes, .* and a frame may have 1048576/);
  });

  it.each([
    ['of a name that is not registered', 'aunt', 'Error: no tool "find_person" is registered'],
    ['of a tool that the node does not offer', 'fly', 'Error: detect offers no tool "fly"'],
  ])('fails a call %s, and runs nothing', async (_, message, content) => {
    await using client = await open();
    const agent = await client.createAgent({ graph: weather() });
    const ran: string[] = [];
    const events: ToolEvent[] = [];
    const tools = executor(
      { fly: { run: () => ran.push('fly') }, constructor: { run: () => ran.push('constructor') } },
      { before: ({ toolName }) => void ran.push(`before ${toolName}`), onEvent: (event) => events.push(event) },
    );
    expect((await agent.send(message, { tools })).status).toBe('SUCCESS');
    expect(resultsIn(engine)).toEqual([content]);
    expect(ran).toEqual([]);
    expect(events.map(({ state }) => state)).toEqual(['failed']);
  });

  it.each([
    ['a missing one', 'nowhere', 'city is required and missing'],
    ['a wrong type', 'seven', 'city must be of type string, not [7]'],
  ])('fails a call with %s of its arguments by the check of the server', async (_, message, issue) => {
    await using client = await open();
    const agent = await client.createAgent({ graph: weather({ on_incomplete: 'notify' }) });
    const tools = executor({ get_weather: { run: () => expect.unreachable() } });
    await agent.send(message, { tools });
    expect(resultsIn(engine)).toEqual([`Error: invalid arguments: ${issue}`]);
  });

  it('runs a call with one argument too many', async () => {
    expect(await resultOf(() => 'sun', 'loudly')).toBe('sun');
  });

  it.each<[string, ToolRegistration<unknown>, string]>([
    ['of the tool', { run: () => 'sun', lifespan: 'DIALOG' }, 'DIALOG'],
    ['of the result', { run: () => toolResult('sun', { lifespan: 'DIALOG' }) }, 'DIALOG'],
    [
      'of the result before that of the tool',
      { run: () => toolResult('sun', { lifespan: 'TURN' }), lifespan: 'DIALOG' },
      'TURN',
    ],
    ['of the turn for a failure', { run: () => Promise.reject(new Error('no')), lifespan: 'DIALOG' }, 'TURN'],
  ])('sends results with the lifespan %s', async (_, tool, expected) => {
    await using client = await open();
    const agent = await client.createAgent({ graph: weather() });
    const turn = agent.send('Paris', { tools: executor({ get_weather: tool }) });
    expect((await turn.toolsDone).map(({ result }) => result.lifespan)).toEqual([expected]);
    const [interaction] = JSON.parse(await agent.exportDialog()) as readonly { readonly results?: readonly object[] }[];
    expect(interaction?.results?.length ?? 0).toBe(expected === 'DIALOG' ? 1 : 0);
  });
});
