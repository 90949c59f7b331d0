import { setTimeout as sleep } from 'node:timers/promises';
import { describe, expect, it, vi } from 'vitest';
import {
  executor,
  ToolError,
  type Client,
  type ExecutorOptions,
  type ToolCall,
  type ToolEvent,
  type ToolOutcome,
} from '../../../src/client/index.ts';
import { codecs } from '../../helpers/depth.ts';
import { eventTexts, openClient, resultsIn, weatherEngine } from '../../helpers/executorGraphs.ts';
import { weather } from '../../helpers/resultGraphs.ts';
import { useServer } from '../../helpers/server.ts';

const engine = weatherEngine();
const server = useServer({ engines: { mock: engine } });

const consequential = {
  tools: [
    {
      name: 'get_weather',
      description: 'x',
      consequential: true,
      parameters: [{ name: 'city', type: 'string' }],
    },
  ],
};

describe.each(codecs)('over %s', (codec) => {
  const open = (): Promise<Client> => openClient(server().url, { codec });

  /** Runs a turn. Returns the results that the model read, the events, and the arguments with which the tools ran. */
  const runTurn = async (options: ExecutorOptions, { message = 'Paris', params = {} } = {}) => {
    await using client = await open();
    const agent = await client.createAgent({ graph: weather(params, { loops: message === 'both' }) });
    const events: ToolEvent[] = [];
    const ran: unknown[] = [];
    const run = (args: unknown): string => {
      ran.push(args);
      return `sun ${ran.length}`;
    };
    const tools = executor(
      { get_weather: { run }, find_person: { run } },
      {
        ...options,
        onEvent: (event) => {
          events.push(event);
          options.onEvent?.(event);
        },
      },
    );
    const { status } = await agent.send(message, { tools });
    return { status, results: resultsIn(engine), events: eventTexts(events), ran };
  };

  describe('`before`', () => {
    it('gets the call, and lets it run as it is', async () => {
      const calls: ToolCall[] = [];
      const turn = await runTurn({ before: (call) => void calls.push(call) });
      expect(turn.ran).toEqual([{ city: 'Paris' }]);
      expect(calls).toMatchObject([{ toolName: 'get_weather', arguments: { city: 'Paris' }, awaitsResult: true }]);
    });

    it('changes the arguments', async () => {
      const turn = await runTurn({ before: async () => ({ arguments: { city: 'Bonn' } }) });
      expect(turn).toMatchObject({ ran: [{ city: 'Bonn' }], results: ['sun 1'] });
    });

    it.each(['before', 'confirm'] as const)('cancels the turn in `%s`: the tool does not run', async (hook) => {
      await using client = await open();
      const agent = await client.createAgent({ graph: weather(consequential) });
      const aborter = new AbortController();
      const ran: unknown[] = [];
      const cancel = (): true => {
        aborter.abort();
        return true;
      };
      const hooks = { before: () => void cancel(), confirm: cancel };
      const tools = executor({ get_weather: { run: (args) => ran.push(args) } }, { [hook]: hooks[hook] });
      const turn = agent.send('Paris', { tools, signal: aborter.signal });
      expect((await turn).status).toBe('CANCELLED');
      expect(await turn.toolsDone).toMatchObject([{ state: 'failed' }]);
      expect(ran).toEqual([]);
    });

    it('may return a promise of any library, whose `then` returns nothing', async () => {
      const then = (resolve: (decision: object) => void): void => {
        resolve({ arguments: { city: 'Bonn' } });
      };
      const turn = await runTurn({ before: () => ({ then }) as never });
      expect(turn).toMatchObject({ ran: [{ city: 'Bonn' }], results: ['sun 1'] });
    });

    it('mends arguments that the server has found wrong', async () => {
      const wrong = { message: 'seven', params: { on_incomplete: 'notify' } };
      const turn = await runTurn({ before: () => ({ arguments: { city: 'Bonn' } }) }, wrong);
      expect(turn).toMatchObject({ ran: [{ city: 'Bonn' }], results: ['sun 1'] });
    });

    it('gives the result in place of the tool', async () => {
      const turn = await runTurn({ before: () => ({ result: { degrees: 3 } }) });
      expect(turn).toMatchObject({ ran: [], results: ['{"degrees":3}'], events: ['completed get_weather(Paris)'] });
    });

    it.each<[string, NonNullable<ExecutorOptions['before']>, string]>([
      ['with a reason', () => ({ block: 'it is night' }), 'it is night'],
      ['with a reason, later', async () => ({ block: 'it is night' }), 'it is night'],
      [
        'by an exception',
        () => {
          throw new Error('out of order');
        },
        'out of order',
      ],
      ['by a rejection', () => Promise.reject(new Error('out of order')), 'out of order'],
      // @ts-expect-error: no decision
      ['by false, which is no decision', () => false, '`before` returned something else than nothing, { arguments }'],
      // @ts-expect-error: no arguments
      ['by arguments that are none', () => ({ arguments: 'Bonn' }), '`before` returned something else'],
    ])('blocks the call %s', async (_, before, reason) => {
      const turn = await runTurn({ before });
      expect(turn).toMatchObject({ status: 'SUCCESS', ran: [], events: ['blocked get_weather(Paris)'] });
      expect(turn.results[0]).toContain(`Error: not run: ${reason}`);
    });
  });

  describe('`after`', () => {
    it('gets the result, and changes a part of it', async () => {
      const given: ToolOutcome[] = [];
      const after = async (_: ToolCall, result: ToolOutcome): Promise<Partial<ToolOutcome>> => {
        given.push(result);
        return { content: `${result.content}, no wind` };
      };
      expect(await runTurn({ after })).toMatchObject({ results: ['sun 1, no wind'] });
      expect(given).toEqual([{ ok: true, content: 'sun 1', lifespan: 'TURN' }]);
    });

    it.each<[string, ExecutorOptions, string, string]>([
      ['leaves a result', { after: () => {} }, 'sun 1', 'completed'],
      ['makes a failure of a result', { after: () => ({ ok: false }) }, 'Error: sun 1', 'failed'],
      [
        'makes a result of a failure',
        { before: () => ({ result: NaN }), after: () => ({ ok: true, content: 'no sensor' }) },
        'no sensor',
        'completed',
      ],
      [
        'words why a call was blocked',
        { before: () => ({ block: 'night' }), after: () => ({ content: 'Sleep.' }) },
        'Error: Sleep.',
        'blocked',
      ],
      [
        'fails by an exception',
        {
          after: () => {
            throw new Error('no ink');
          },
        },
        'Error: no ink',
        'failed',
      ],
      ['fails by a rejection', { after: () => Promise.reject(new Error('no ink')) }, 'Error: no ink', 'failed'],
      [
        'fails with a content that is no text',
        // @ts-expect-error: a number
        { after: () => ({ content: 5 }) },
        'Error: executor.after.content must be a string, not 5',
        'failed',
      ],
      [
        'fails with a text in place of a result',
        // @ts-expect-error: a text
        { after: () => 'sun' },
        'Error: the options of executor.after must be an object, not "sun"',
        'failed',
      ],
      [
        'fails with too large a content',
        { after: () => ({ content: 'x'.repeat(262_145) }) },
        'Error: the result has 262145 bytes, and 262144 are allowed',
        'failed',
      ],
    ])('%s', async (_, options, result, state) => {
      const turn = await runTurn(options);
      expect(turn.results).toEqual([result]);
      expect(turn.events.at(-1)).toBe(`${state} get_weather(Paris)`);
    });
  });

  describe('`confirm`', () => {
    it('is asked before a consequential call, with the arguments that it would run with', async () => {
      const confirm = vi.fn<NonNullable<ExecutorOptions['confirm']>>(async () => true);
      const turn = await runTurn(
        { before: () => ({ arguments: { city: 'Bonn' } }), confirm },
        { params: consequential },
      );
      expect(turn).toMatchObject({ ran: [{ city: 'Bonn' }], results: ['sun 1'] });
      const signal = expect.any(AbortSignal) as unknown;
      expect(confirm.mock.calls).toMatchObject([
        [{ toolName: 'get_weather', arguments: { city: 'Bonn' } }, { signal }],
      ]);
    });

    it('is not asked before any other call, nor for one that is blocked or invalid', async () => {
      const confirm = (): never => expect.unreachable();
      expect((await runTurn({ confirm })).ran).toHaveLength(1);
      expect((await runTurn({ confirm, before: () => ({ block: 'x' }) }, { params: consequential })).ran).toEqual([]);
      const wrong = { ...consequential, on_incomplete: 'notify' };
      expect((await runTurn({ confirm }, { message: 'seven', params: wrong })).ran).toEqual([]);
    });

    it('is not needed: without it a consequential call runs', async () => {
      expect((await runTurn({}, { params: consequential })).ran).toHaveLength(1);
    });

    it.each<[string, NonNullable<ExecutorOptions['confirm']>, string]>([
      ['false', () => false, 'it was not confirmed'],
      ['a promise of false', async () => false, 'it was not confirmed'],
      // @ts-expect-error: nothing
      ['nothing', () => {}, 'it was not confirmed'],
      // @ts-expect-error: a text
      ['a text', () => 'no', 'it was not confirmed'],
      [
        'an exception',
        () => {
          throw new Error('the window was closed');
        },
        'the window was closed',
      ],
      ['a rejection', () => Promise.reject(new Error('the window was closed')), 'the window was closed'],
    ])('blocks the call by %s', async (_, confirm, reason) => {
      const turn = await runTurn({ confirm }, { params: consequential });
      expect(turn).toMatchObject({ ran: [], events: ['blocked get_weather(Paris)'] });
      expect(turn.results).toEqual([`Error: not run: ${reason}`]);
    });

    it('is asked about one call at a time, in the order of the calls', async () => {
      const asked: string[] = [];
      const confirm = async ({ arguments: { city } }: ToolCall): Promise<boolean> => {
        asked.push(`ask ${String(city)}`);
        await sleep(5);
        asked.push(`answer ${String(city)}`);
        return true;
      };
      await runTurn({ confirm }, { message: 'three', params: consequential });
      expect(asked).toEqual(['Paris', 'Oslo', 'Rome'].flatMap((city) => [`ask ${city}`, `answer ${city}`]));
    });
  });

  describe('`stopOnBlock`', () => {
    const before = async ({ arguments: { city, who } }: ToolCall) =>
      city === 'Oslo' || who ? { block: 'closed' } : undefined;

    it('keeps the calls of the reply after a blocked one from being run', async () => {
      const turn = await runTurn({ before, stopOnBlock: true }, { message: 'three' });
      expect(turn.ran).toEqual([{ city: 'Paris' }]);
      expect(turn.results).toEqual([
        'sun 1',
        'Error: not run: closed',
        'Error: not run: the call of get_weather before it was blocked',
      ]);
      expect(turn.events.slice(-2)).toEqual(['blocked get_weather(Oslo)', 'blocked get_weather(Rome)']);
    });

    it('is off by default', async () => {
      const turn = await runTurn({ before }, { message: 'three' });
      expect(turn.ran).toEqual([{ city: 'Paris' }, { city: 'Rome' }]);
      expect(turn.results).toEqual(['sun 1', 'Error: not run: closed', 'sun 2']);
    });

    it('holds for one reply: the calls of the next one run', async () => {
      const turn = await runTurn({ before, stopOnBlock: true }, { message: 'both' });
      expect(turn.results).toEqual([
        'Error: not run: closed',
        'Error: not run: the call of find_person before it was blocked',
        'sun 1',
      ]);
      expect(turn.ran).toEqual([{ city: 'Paris' }]);
    });
  });

  describe('`throwOnFailure`', () => {
    const failing = (error: Error, options: ExecutorOptions = {}) => {
      const run = async (): Promise<never> => {
        throw error;
      };
      return executor({ get_weather: { run } }, { throwOnFailure: true, ...options });
    };

    it('rejects the turn with the tool and the cause, and cancels it', async () => {
      await using client = await open();
      const agent = await client.createAgent({ graph: weather() });
      const cause = new Error('the station is closed');
      const turn = agent.send('Paris', { tools: failing(cause) });
      const error = await turn.catch((thrown: unknown) => thrown);
      expect(error).toBeInstanceOf(ToolError);
      expect(error).toMatchObject({
        name: 'ToolError',
        message: 'the call of get_weather failed: the station is closed',
        toolName: 'get_weather',
        call: { arguments: { city: 'Paris' } },
        cause,
      });
      // The turn has ended on the server, too.
      expect(JSON.parse(await agent.exportDialog())).toMatchObject([{ mark: 'cancelled' }]);
      expect((await agent.send('hello')).text).toBe('It is fine.');
    });

    it('rejects for a call that is not registered', async () => {
      await using client = await open();
      const agent = await client.createAgent({ graph: weather() });
      await expect(agent.send('aunt', { tools: failing(new Error('x')) }).done).rejects.toMatchObject({
        toolName: 'find_person',
      });
    });

    it('does not reject for a blocked call, nor for a tool that fails because the turn was cancelled', async () => {
      await using client = await open();
      const agent = await client.createAgent({ graph: weather() });
      const tools = failing(new Error('x'), { before: () => ({ block: 'x' }) });
      expect((await agent.send('Paris', { tools })).status).toBe('SUCCESS');
      const waiting = executor(
        {
          get_weather: {
            run: (_, { signal }) => {
              queueMicrotask(() => turn.cancel());
              return sleep(60_000, undefined, { signal });
            },
          },
        },
        { throwOnFailure: true },
      );
      const turn = agent.send('Paris', { tools: waiting });
      expect((await turn).status).toBe('CANCELLED');
    });
  });

  it('tells the steps of each call, with arguments, result and error', async () => {
    const events: ToolEvent[] = [];
    await runTurn({ onEvent: (event) => events.push(event) });
    await runTurn({ before: () => ({ result: NaN }), onEvent: (event) => events.push(event) });
    expect(events).toMatchObject([
      { type: 'tool', state: 'started', call: { toolName: 'get_weather' }, arguments: { city: 'Paris' } },
      { type: 'tool', state: 'completed', result: { ok: true, content: 'sun 1' } },
      { type: 'tool', state: 'failed', result: { ok: false }, error: expect.any(Error) as unknown },
    ]);
  });

  it('keeps what `before` and `confirm` have not answered when the turn ends from being run', async () => {
    await using client = await open();
    const agent = await client.createAgent({ graph: weather(consequential) });
    const signals: AbortSignal[] = [];
    const ran: unknown[] = [];
    const tools = executor(
      { get_weather: { run: (args) => ran.push(args) } },
      {
        confirm: async (_, { signal }) => {
          signals.push(signal);
          turn.cancel();
          return true;
        },
      },
    );
    const turn = agent.send('Paris', { tools });
    expect((await turn).status).toBe('CANCELLED');
    expect(await turn.toolsDone).toMatchObject([{ state: 'failed' }]);
    expect([signals[0]?.aborted, ran]).toEqual([true, []]);
  });

  it('rejects the turn with what `onEvent` throws', async () => {
    const onEvent = (): never => {
      throw new TypeError('no such panel');
    };
    await expect(runTurn({ onEvent })).rejects.toThrow('no such panel');
  });

  it('logs what `onEvent` throws after the turn', async () => {
    await using client = await open();
    const agent = await client.createAgent({ graph: weather({ await_results: false }) });
    const log = vi.spyOn(console, 'error').mockReturnValue();
    const run = async (): Promise<void> => void (await turn.done);
    const onEvent = ({ state }: ToolEvent): void => {
      if (state === 'completed') throw new TypeError('no such panel');
    };
    const turn = agent.send('Paris', { tools: executor({ get_weather: { run } }, { onEvent }) });
    expect((await turn).status).toBe('SUCCESS');
    await turn.toolsDone;
    expect(log.mock.calls).toEqual([['onEvent of an executor threw', new TypeError('no such panel')]]);
    log.mockRestore();
  });

  it('fails the turn by a plain function also where the turn does not wait', async () => {
    const run = (): Promise<unknown> =>
      runTurn({ before: () => ({ result: NaN }), throwOnFailure: true }, { params: { await_results: false } });
    await expect(run()).rejects.toThrow(ToolError);
  });
});

describe('an executor', () => {
  it.each<[string, () => unknown]>([
    [
      'executor.set_light must be an object with the function run, not a function',
      // @ts-expect-error: no tool
      () => executor({ set_light: () => {} }),
    ],
    // @ts-expect-error: no function
    ['executor.set_light.run is missing: give a function that runs the tool', () => executor({ set_light: {} })],
    // @ts-expect-error: no function
    ['executor.set_light.run must be a function, not true', () => executor({ set_light: { run: true } })],
    [
      'executor.set_light.lifespan must be "TURN" or "DIALOG", not "dialog"',
      // @ts-expect-error: no lifespan
      () => executor({ set_light: { run: () => {}, lifespan: 'dialog' } }),
    ],
    [
      'executor.set_light.parametres is not known here; did you mean "parameters"?',
      // @ts-expect-error: misspelt
      () => executor({ set_light: { run: () => {}, parametres: {} } }),
    ],
    [
      'executor.set_light.parameters must be a JSON Schema or a Standard Schema, not a list',
      // @ts-expect-error: a list
      () => executor({ set_light: { run: () => {}, parameters: [{ name: 'on', type: 'boolean' }] } }),
    ],
    [
      'executor.set_light.parameters.type must be "object": arguments have names',
      // @ts-expect-error: of a text
      () => executor({ set_light: { run: () => {}, parameters: { type: 'string' } } }),
    ],
    [
      'executor.set_light.parameters.properties.on.type must be of string, number, integer, boolean, array, object, null, not "bool"',
      () =>
        executor({
          set_light: { run: () => {}, parameters: { type: 'object', properties: { on: { type: 'bool' } } } },
        }),
    ],
    [
      'executor.set_light.parameters.properties.on must be a JSON value, not a function',
      () => executor({ set_light: { run: () => {}, parameters: { properties: { on: () => {} } } } }),
    ],
    [
      'executor.tools must be a plain object of tools, not an instance of Map',
      () => executor(new Map() as unknown as {}),
    ],
    // @ts-expect-error: no tools
    ['executor.tools must be a plain object of tools, not undefined', () => executor()],
    ['executor.concurrency must be a whole number from 1, not 0', () => executor({}, { concurrency: 0 })],
    ['executor.concurrency must be a whole number from 1, not 1.5', () => executor({}, { concurrency: 1.5 })],
    // @ts-expect-error: misspelt
    ['executor.stopOnBlok is not known here; did you mean "stopOnBlock"?', () => executor({}, { stopOnBlok: true })],
    // @ts-expect-error: a text
    ['executor.throwOnFailure must be true or false, not "yes"', () => executor({}, { throwOnFailure: 'yes' })],
    // @ts-expect-error: no function
    ['executor.confirm must be a function, not true', () => executor({}, { confirm: true })],
  ])('is refused: %s', (message, create) => {
    expect(create).toThrow(expect.objectContaining({ code: 5001, message }));
  });
});
