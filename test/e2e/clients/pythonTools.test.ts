import { beforeAll, describe, expect, it } from 'vitest';
import { isSkipped } from '../../helpers/requirements.mjs';
import { chatmlCall } from '../../helpers/resultGraphs.ts';
import { useServer } from '../../helpers/server.ts';
import { usePython } from './pythonProgram.ts';

const weatherCalls = ['Paris', 'Oslo', 'Rome'].map((city) => chatmlCall('get_weather', { city })).join('\n');
const server = useServer({
  script: [
    { match: '^light', answer: chatmlCall('set_light', { name: 'porch', on: 'true' }) },
    { match: '^incomplete', answer: chatmlCall('set_light', { name: 'porch' }) },
    { match: '^wrong type', answer: chatmlCall('set_light', { name: 'porch', on: 'maybe' }) },
    { match: '^sing', answer: chatmlCall('sing', { song: 'la' }) },
    { match: '^three', answer: weatherCalls },
    { match: '^twice', nth: 1, answer: weatherCalls },
    { match: '^twice', nth: 2, answer: chatmlCall('get_weather', { city: 'Bonn' }) },
    { match: '^function', answer: chatmlCall('sing', { function: 'la', notes: ['c'] }) },
    { match: '^then', node: 'detect', answer: chatmlCall('get_weather', { city: 'Paris' }) },
    { match: '^then', node: 'again', answer: chatmlCall('get_weather', { city: 'Oslo' }) },
    { match: '^pay', answer: chatmlCall('pay', { amount: 5 }) },
    { match: '^slowly', answer: 'no call at all', delay_ms: 50 },
    { match: '', answer: 'No call.' },
  ],
});

describe.skipIf(isSkipped('pythonTools'))('the executor of the Python client', () => {
  const python = usePython('pythonTools');

  describe.each(['json', 'proto'])('over %s', (codec) => {
    let results: Readonly<Record<string, unknown>> = {};
    beforeAll(async () => {
      results = await python.results('toolScenarios.py', server().url, codec);
    });

    it('runs a call and gives the turn its result', () => {
      expect(results['answers_with_the_result']).toEqual({
        kinds: ['Call', 'Text'],
        awaits: true,
        text: 'set_light: the porch is on. ',
        runs: [['set_light', 'completed', 'the porch is on', true]],
        events: [
          ['started', true],
          ['completed', true],
        ],
        content: 'the porch is on',
      });
    });

    it('declares tools by their signatures and docstrings, and runs them in each turn', () => {
      expect(results['runs_tools_that_are_defined_once']).toEqual({
        declarations: [
          {
            name: 'set_light',
            description: 'Switch a light on or off.',
            parameters: {
              type: 'object',
              properties: {
                name: { type: 'string', enum: ['porch', 'hall'], description: 'Which light.' },
                on: { type: 'boolean' },
                level: {
                  anyOf: [{ type: 'integer' }, { type: 'number' }],
                  description: 'How bright: from 1 to 5.',
                },
                rooms: { type: 'array', items: { type: 'string' } },
              },
              required: ['name', 'on'],
            },
          },
          {
            name: 'pay',
            description: 'Pay.',
            parameters: { type: 'object', properties: { amount: { type: 'integer' } }, required: ['amount'] },
            consequential: true,
          },
          { name: 'ring', description: 'Ring the bell.' },
        ],
        texts: [
          'set_light: the porch is on. ',
          'pay: 5 paid. ',
          'pay: another one. ',
          'pay: not run: it was not confirmed (failed). ',
          'set_light: the porch is on. ',
        ],
        got: [
          ['porch', true, 3, null],
          ['porch', true, 3, null],
          ['hall', true, 3, null],
        ],
        called: 'the hall is on',
        refused: [
          [
            3003,
            'detect.params.tools[1] names the tool "pey", which the program does not bring: createAgent.tools has only "set_light", "pay"; did you mean "pay"?; 1 more fault is in the detail, and turngraph check shows all',
          ],
          [
            3003,
            'the graph has no node that names "ring" of createAgent.tools: its nodes name only "set_light", "pay"',
          ],
          [
            3003,
            'detect.params.tools[0] names the tool "set_light", which the program does not bring: createAgent.tools is empty; bring it, or declare it in the graph; 1 more fault is in the detail, and turngraph check shows all',
          ],
        ],
      });
    });

    it('makes no tool of a function that says too little', () => {
      const hint = 'needs a type hint of JSON: str, int, float, bool, Literal, list, dict, Optional or Any';
      expect(results['refuses_functions']).toEqual([
        'the tool undocumented has no docstring, which tells the model what it does',
        `the parameter name of the tool unhinted ${hint}`,
        `the parameter name of the tool of_bytes ${hint}`,
        'the parameter names of the tool any_number must be one that is given by its name',
        'the parameter name of the tool without_default may be None, so it needs a default: None',
        'the tool misspelt has no parameter nmae, which its docstring describes',
        'refuses_functions.<locals>.Room.set_lamp is a method: remove @tool, and give create_agent tools=[tool(object.set_lamp)]',
        'a list of tools has those of @tool, not <built-in function len>',
      ]);
    });

    it('runs calls in parallel, coroutines and threads, and keeps the order of their results', () => {
      expect(results['runs_in_parallel']).toEqual({
        ended: ['Rome', 'Oslo', 'Paris'],
        first: 'get_weather: sun in Paris. get_weather: sun in Oslo. get_weather: sun in Rome. ',
        second: 'get_weather: PARIS. get_weather: OSLO. get_weather: ROME. ',
      });
    });

    it('runs no more calls at a time than concurrency says', () => {
      const text = 'get_weather: Paris. get_weather: Oslo. get_weather: Rome. ';
      expect(results['runs_at_most_some']).toEqual({ peak: 2, text });
    });

    it.each([
      ['raises', 'no light porch'],
      ['raises in a coroutine', "'porch'"],
      ['StopIteration', 'StopIteration'],
      ['CancelledError', 'the call was cancelled'],
      ['no JSON', 'the result is not JSON: .*NoJson.*'],
      ['NaN', 'the result is not JSON: .*'],
      ['half a surrogate pair', 'the result is not JSON: .*surrogates.*'],
      ['too long', 'the result has 262145 bytes, and 262144 are allowed; send less'],
      ['not ok', '{"reason": "broken"}'],
      ['another parameter', "invalid arguments: missing a required argument: 'colour'"],
      ['a parameter less', "invalid arguments: got an unexpected keyword argument 'on'"],
      ['another type', 'invalid arguments: on must be .*int.*, not true'],
      ['another literal', 'invalid arguments: name must be .*hall.*, not "porch"'],
      ['no list', 'invalid arguments: name must be .*Sequence.*str.*, not "porch"'],
      ['positional', 'invalid arguments: .*positional.*'],
      ['unprintable', 'the tool failed'],
      ['too long as JSON', 'the result has \\d+ bytes, and a frame may have 1048576; send less'],
      ['another lifespan', 'the lifespan of a result must be "TURN" or "DIALOG", not .dialog.'],
      ['another ok', 'ok of a result must be True or False, not .yes.'],
      ['unregistered', 'no tool "set_light" is registered'],
      ['unknown to the graph', 'detect offers no tool "sing"'],
      ['incomplete', 'invalid arguments: on is required and missing'],
      ['wrong type', 'invalid arguments: on must be of type boolean, not "maybe"'],
    ])('makes a failure result: %s', (name, content) => {
      const { outcomes, called } = results['fails_without_a_crash'] as {
        readonly outcomes: Readonly<Record<string, readonly string[]>>;
        readonly called: readonly unknown[];
      };
      const [text, ...kinds] = outcomes[name] ?? [];
      expect(text).toMatch(new RegExp(`^(?:set_light|sing): ${content} \\(failed\\)\\. $`));
      expect(kinds.filter((kind) => kind !== 'failed')).toEqual([]);
      expect(called).toEqual([]);
    });

    it('sends text as it is, and any other value as JSON', () => {
      expect(results['returns_all_kinds']).toEqual([
        'set_light: {"é": [1, "porch", true]}. ',
        'set_light: ok. ',
        'set_light: ["name", "on"]. ',
        'set_light: 3. ',
        'set_light: . ',
        "set_light: {'é': [1, 'x', True]}. ",
      ]);
    });

    it('lets before and after change, replace and block calls and results', () => {
      const ran = ['started', 'completed'];
      expect(results['asks_hooks']).toEqual({
        nothing: ['set_light: porch True. ', ran],
        changes: ['set_light: porch False. ', ran],
        'changes the name': ['set_light: no tool "rm" is registered (failed). ', ['failed']],
        replaces: ['set_light: as before. ', ['completed']],
        blocks: ['set_light: not run: not at night (failed). ', ['blocked']],
        raises: ['set_light: not run: division by zero (failed). ', ['blocked']],
        'after a block': ['set_light: as if. ', ['blocked']],
        wrong: [
          expect.stringContaining('not run: before must return a Call, a ToolResult, a Block or None, not False'),
          ['blocked'],
        ],
        after: ['set_light: porch True! (failed). ', ['started', 'failed']],
        'after raises': ['set_light: division by zero (failed). ', ['started', 'failed']],
        'after wrong': [
          expect.stringContaining("after must return a ToolResult or None, not 'text'"),
          ['started', 'failed'],
        ],
        completes: ['set_light: porch False. '],
      });
    });

    it('asks for a confirmation of consequential calls only', () => {
      const asked = ['pay', { amount: 5 }];
      expect(results['asks_for_confirmation']).toEqual({
        texts: [
          'pay: not run: it was not confirmed (failed). ',
          'set_light: on. ',
          'pay: not run: it was not confirmed (failed). ',
          'pay: not run: division by zero (failed). ',
          'pay: paid. ',
        ],
        asked: [asked, asked, asked, asked],
        paid: [5],
      });
    });

    it('runs no call after a blocked one where stop_on_block says so', () => {
      const paris = ['get_weather', 'completed', null, true];
      const oslo = ['get_weather', 'blocked', 'not run: not there', true];
      const notRun = ['get_weather', 'blocked', 'not run: the call of get_weather before it was blocked', true];
      expect(results['stops_on_a_block']).toEqual({
        stops: [paris, oslo, notRun],
        goes_on: [paris, oslo, paris],
        // A later reply is another chance.
        twice: [paris, oslo, notRun, paris],
        called: ['Bonn', 'Paris', 'Paris', 'Paris', 'Rome'],
      });
    });

    it('cancels the turn and raises where throw_on_failure says so', () => {
      const error = ['get_weather: no sky', "ValueError('no sky')", 'Oslo', false];
      expect(results['throws_on_failure']).toEqual({ raised: [error, error], cancelled: true, after: true });
    });

    it('does not hold up a turn that goes on without a result, and brings that with a later message', () => {
      const { texts, ...turn } = results['brings_late_results_with_the_next_message'] as {
        readonly texts: readonly string[];
      };
      expect(turn).toEqual({
        text: 'Nobody answers.',
        runs: [],
        late: [3012, 3012],
        first: '',
      });
      expect(texts.map((text) => JSON.parse(text) as unknown)).toEqual([
        [{ name: 'set_light', arguments: { name: 'porch', on: true }, ok: true, content: '{"on": true}' }],
      ]);
    });

    it.each([
      ['turn', ''],
      ['task', 'CancelledError'],
      ['loop', 'CancelledError'],
    ])('cancels running tools with their %s, and answers the next message', (how, raised) => {
      const run = ['set_light', 'failed', 'the turn ended before the tool', false];
      expect((results['cancels_tools'] as Readonly<Record<string, unknown>>)[how]).toEqual([
        raised,
        true,
        ['started', 'failed'],
        'CANCELLED',
        [run],
        'SUCCESS',
      ]);
    });

    it('cancels running tools after the timeout of their turn', () => {
      expect(results['cancels_tools']).toMatchObject({
        timeout: ['TimedOut', true, ['started', 'failed'], 'TimedOut', 'SUCCESS'],
      });
    });

    it('brings results that the turn does not wait for with the next message that is accepted', () => {
      const previous = ['Paris', 'Oslo', 'Rome'].map((city) => ({
        name: 'get_weather',
        arguments: { city },
        ok: true,
        content: JSON.stringify({ city }).replace(':', ': '),
      }));
      const { refused, ...others } = results['brings_results_with_the_next_message'] as {
        readonly refused: readonly [number, string];
      };
      expect(others).toEqual({
        first: ['', previous.map((each) => ['get_weather', 'completed', each.arguments, false])],
        own: '',
        next: null,
        later: '',
      });
      expect([refused[0], JSON.parse(refused[1])]).toEqual([3004, previous]);
      expect(results['gives_back_results_of_a_refused_message']).toEqual([5001, 2005, 1]);
    });

    it('brings the arguments as the model wrote them, whatever the tool has made of them', () => {
      expect(results['keeps_the_arguments_of_the_model']).toEqual([
        { name: 'sing', arguments: { function: 'la', notes: ['c'] }, ok: true, content: 'la' },
      ]);
    });

    it('runs no tool whose turn a hook has cancelled', () => {
      expect(results['cancels_the_turn_in_a_hook']).toEqual(['CANCELLED', ['failed'], []]);
    });

    it('holds up no call by one that the turn gave up', () => {
      const text = 'get_weather: sun. ';
      const outcomes = ['failed', 'completed'];
      expect(results['holds_up_no_later_node']).toEqual([
        [text, outcomes],
        [text, ['completed']],
        [text, outcomes],
      ]);
    });

    it('brings long results one after the other, and says which are too long', () => {
      const tooLong = expect.stringMatching(
        /^the call and its result have \d+ bytes, and 131072 are allowed/,
      ) as unknown;
      expect(results['brings_long_results_one_after_the_other']).toEqual([
        [[true, 'Paris']],
        [
          [true, 'Oslo'],
          [false, tooLong],
        ],
        [],
        [],
      ]);
    });

    it('forgets results with the dialog', () => {
      expect(results['forgets_results_with_the_dialog']).toBe('');
    });

    it('submits results that the program has, and raises for those that the server refuses', () => {
      const text = 'get_weather: snow. get_weather: no sky (failed). get_weather: {"degrees": 18.5}. ';
      expect(results['submits_by_hand']).toMatchObject({
        text,
        codes: [3012, 3012, 5001, 2005, 3004, 3012],
        runs: [],
        dialog: [{ user: 'three', assistant: text, results: [{ name: 'get_weather', ok: true, content: 'snow' }] }],
      });
    });

    it('appends to the dialog what was said elsewhere', () => {
      expect(results['sets_the_pace']).toEqual({ paused: true, status: 'SUCCESS', wrong: 5001 });
      expect(results['appends_to_the_dialog']).toEqual({
        dialog: [
          ['Who are you?', 'The porter.'],
          ['', 'Come in.'],
        ],
        empty: 5001,
      });
    });

    it('lets people take part: lines at any time, the mode, variables, metadata and the end of a turn', () => {
      const refusal = [5001, expect.any(String)];
      expect(results['lets_people_take_part']).toMatchObject({
        texts: [
          ['One moment.', 'client'],
          ['set_light: on. ', ''],
        ],
        lines: ['', 'Good.'],
        text: 'set_light: on. ',
        modes: ['MANUAL', 'MANUAL', 'AUTO', 'MANUAL'],
        metadata: [{ watts: 9 }],
        answers: ['', '3', 'Enough.'],
        dialog: [
          'light',
          'One moment.',
          'set_light: on. ',
          'Is anybody there?',
          'I am.',
          'Good.',
          'hello3',
          'lightEnough.',
        ],
        wrong: [refusal, refusal],
        no_json: refusal,
      });
    });

    it('runs the calls of a turn that is not read, or is read twice at the same time', () => {
      expect(results['runs_tools_of_turns_that_nobody_reads']).toBe('set_light: on. ');
      expect(results['is_read_twice']).toBe('set_light: on. ');
    });

    it('cancels its own turn only, when another one runs', () => {
      expect(results['cancels_only_its_own_turn']).toEqual([3004, 'SUCCESS']);
    });

    it('tells what was run in a turn that failed', () => {
      expect(results['tells_of_failed_turns']).toEqual([4003, [['set_light', 'completed', 'on', true]]]);
    });

    it('ends running tools when the connection ends', () => {
      expect(results['ends_tools_when_the_connection_ends']).toEqual([1002, true]);
    });

    it('logs what a tool raises where nobody listens, and what a listener raises', () => {
      expect(results['logs_errors']).toEqual({
        logged: [
          ['the call of set_light failed: ZeroDivisionError: division by zero', null],
          [
            'the call of set_light failed: ZeroDivisionError: division by zero',
            "ZeroDivisionError('division by zero')",
          ],
        ],
        reported: ['list index out of range', 'list index out of range'],
      });
      expect(results['pending']).toBe(0);
    });

    it('refuses options that cannot be meant', () => {
      expect(results['refuses_options']).toEqual([
        'ValueError: concurrency must be 1 or more, not 0',
        "TypeError: tools['sing'] must be a function, not 'la'",
        '',
      ]);
    });
  });
});
