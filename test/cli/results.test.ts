import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { connect } from '../../src/client/index.ts';
import { turnAnswers } from '../../src/cli/callAnswers.ts';
import type { ServerFrame } from '../../src/protocol/frames.gen.ts';
import { oneDayMs } from '../helpers/heldEngine.ts';
import { checkRequirement, isSkipped } from '../helpers/requirements.mjs';
import { chatmlCall } from '../helpers/resultGraphs.ts';
import { useServer } from '../helpers/server.ts';
import { runCli, useCommandHost } from './command.ts';
import { Terminal } from './terminal.ts';

const runCommand = useCommandHost();

const script = [
  { match: '^two', answer: [chatmlCall('get_weather', { city: 'Paris' }), chatmlCall('find', {})].join('\n') },
  { match: '^Paris', answer: chatmlCall('get_weather', { city: 'Paris' }) },
  { match: '^Oslo', answer: chatmlCall('get_weather', { city: 'Oslo' }) },
  { match: '', answer: 'No call.' },
];
const parameters = [{ name: 'city', type: 'string' }];
const report = '{{#tool_results}}{{name}}{{^ok}} failed{{/ok}}: {{content}}. {{/tool_results}}';

/** A graph that waits for results for a day, and reports them. */
const graph = (params: object = {}) => ({
  start_node: 'detect',
  nodes: {
    detect: {
      type: 'ToolCall',
      params: {
        tools: [
          { name: 'get_weather', description: 'Tells the weather.', parameters },
          { name: 'find', description: 'Finds a person.', parameters: { type: 'object' } },
        ],
        await_results: true,
        results_timeout_ms: oneDayMs,
        ...params,
      },
      exits: { tool_called: 'report', no_tool_called: 'report', no_results: 'sorry' },
    },
    report: { type: 'CannedResponse', params: { inline_strings: [report] } },
    sorry: { type: 'CannedResponse', params: { inline_strings: ['Nobody answers.'] } },
  },
});

const server = useServer({ script });
let folder = '';
let graphPath = '';
let scriptPath = '';
const write = async (name: string, content: unknown): Promise<string> => {
  const path = join(folder, name);
  await writeFile(path, typeof content === 'string' ? content : JSON.stringify(content));
  return path;
};
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'turngraph-'));
  graphPath = await write('graph.json', graph());
  scriptPath = await write('script.json', script);
});
afterAll(() => rm(folder, { recursive: true }));

/** The frames that `run` prints, and the text in them. */
function readFrames(out: string): { readonly frames: readonly ServerFrame[]; readonly text: string } {
  const lines = out.trim().split('\n');
  const frames = lines.map((line) => JSON.parse(line) as ServerFrame & { readonly answerText?: { text: string } });
  return { frames, text: frames.map(({ answerText }) => answerText?.text ?? '').join('') };
}

/** Runs messages with results from a file, or without. */
async function run(messages: readonly string[], results?: unknown, graphFile = graphPath) {
  const flags = results === undefined ? [] : ['--results', await write('results.json', results)];
  const ran = await runCommand(['run', graphFile, ...messages, '--mock-script', scriptPath, ...flags]);
  return { ...ran, ...readFrames(ran.out) };
}

describe('turngraph run with a graph that waits for results', () => {
  it('lets calls fail at once without --results, and says so', async () => {
    const { frames, text, err, code } = await run(['Paris']);
    expect(frames[0]).toMatchObject({ toolCallNotification: { toolName: 'get_weather', awaitsResult: true } });
    expect(text).toBe('get_weather failed: no result; give --results FILE. ');
    expect(err).toBe('-- no tools: get_weather {"city":"Paris"} fails; give --results FILE\n');
    expect(code).toBe(0);
  });

  it('gives each call the first entry that matches its tool and arguments', async () => {
    const { text, err, code } = await run(
      ['two', 'Oslo'],
      [
        { tool: 'find', content: 'in the hall' },
        { tool: 'get_weather', arguments: { city: 'Paris' }, content: { degrees: 18 } },
        { tool: 'get_weather', ok: false, content: 'no station' },
        { tool: 'get_weather', arguments: { city: 'Oslo' }, content: 'is not reached' },
      ],
    );
    expect(text).toBe('get_weather: {"degrees": 18}. find: in the hall. get_weather failed: no station. ');
    expect({ err, code }).toEqual({ err: '', code: 0 });
  });

  it('keeps a result of lifespan DIALOG for later turns', async () => {
    const results = [{ tool: 'get_weather', content: 'sun', lifespan: 'DIALOG' }];
    const { frames } = await run(['Paris', 'Paris'], results);
    const calls = frames.filter((frame) => 'toolCallNotification' in frame);
    expect(calls).toHaveLength(1);
    expect(frames).toContainEqual(
      expect.objectContaining({ nodeEvent: expect.objectContaining({ eventType: 'already_known' }) as unknown }),
    );
  });

  it('lets a call fail that has no entry, and names the fix', async () => {
    const { text, err, code } = await run(['two'], [{ tool: 'find' }]);
    expect(text).toBe('get_weather failed: no result is known for this call of get_weather. find: ok. ');
    expect(err).toMatch(
      /^-- \S+results\.json has no entry for get_weather \{"city":"Paris"\}: the call fails; add \{"tool": "get_weather", "content": \.\.\.\}\n$/,
    );
    expect(code).toBe(0);
  });

  it('says that a result is not used where the graph does not wait for it', async () => {
    const path = await write('detached.json', graph({ await_results: false }));
    const { err } = await run(['Paris', 'Oslo'], [{ tool: 'get_weather', arguments: { city: 'Oslo' } }], path);
    expect(err).not.toContain('Paris');
    expect(err).toMatch(
      /^-- \S+results\.json is not used for get_weather \{"city":"Oslo"\}: its node waits for no result \(await_results\)$/m,
    );
  });

  it('answers calls on another server, too', async () => {
    const results = await write('remote.json', [{ tool: 'get_weather', content: 'sun' }]);
    const flags = ['--url', server().url, '--engine', 'mock', '--results', results];
    const { out, code } = await runCommand(['run', graphPath, 'Paris', ...flags]);
    expect(readFrames(out).text).toBe('get_weather: sun. ');
    expect(code).toBe(0);
  });
});

it('refuses an invalid file of --results before anything starts', async () => {
  const path = await write('invalid.json', [{ tool: 'f', argument: {} }]);
  const ran = await runCommand(['run', 'lamp-switch', 'hello', '--results', path]);
  expect(ran).toEqual({
    out: '',
    err: `error: ${path}:1:14: entry 1.argument is not known here; did you mean "arguments"?\n`,
    code: 1,
  });
});

describe('turngraph chat with a graph that waits for results', () => {
  it('takes no piped line for a result', async () => {
    const { out, err, code } = await runCli(['chat', graphPath, '--mock-script', scriptPath], 'Paris\nOslo\n');
    const failed = 'get_weather failed: no result; give --results FILE. \n';
    expect({ out, code }).toEqual({ out: failed + failed, code: 0 });
    expect(err).toContain('-> get_weather {"city":"Oslo"}\n<- failed: no result; give --results FILE\n');
    expect(err).toContain('-- no tools: get_weather {"city":"Oslo"} fails; give --results FILE\n');
  });

  it('takes results from a file, and prints them', async () => {
    const results = await write('results.json', [{ tool: 'get_weather', content: 'sun' }]);
    const flags = ['--mock-script', scriptPath, '--results', results];
    const { out, err } = await runCommand(['chat', graphPath, ...flags], 'Paris\n');
    expect(out).toBe('get_weather: sun. \n');
    expect(err).toContain('-> get_weather {"city":"Paris"}\n<- sun\n');
  });
});

describe.skipIf(isSkipped('terminal'))('turngraph chat in a terminal', () => {
  beforeAll(() => checkRequirement('terminal'));
  const chat = (graphFile = graphPath) => new Terminal(['chat', graphFile, '--mock-script', scriptPath]);

  it('asks for the result of each call, one after the other', async () => {
    await using terminal = chat();
    await terminal.sendAfter('> ', 'two');
    await terminal.sendAfter('result of get_weather {"city":"Paris"}: ', '18 degrees');
    await terminal.sendAfter('result of find {}: ', '! nobody is there');
    await terminal.waitFor('get_weather: 18 degrees. find failed: nobody is there. ');
    await terminal.sendAfter('> ', 'Oslo');
    await terminal.sendAfter('result of get_weather {"city":"Oslo"}: ', '');
    await terminal.waitFor('get_weather: ok. ');
    await terminal.sendAfter('> ', 'hello');
    await terminal.waitFor('> ');
    terminal.sendKey('ctrl-d');
    expect(await terminal.exitCode()).toBe(0);
    expect(terminal.output.match(/type the result as text or JSON/g)).toHaveLength(1);
  });

  it('cancels a turn whose result it asks for, and goes on', async () => {
    await using terminal = chat();
    await terminal.sendAfter('> ', 'Paris');
    await terminal.waitFor('result of get_weather {"city":"Paris"}: ');
    terminal.sendKey('ctrl-c');
    await terminal.waitFor('-- cancelled');
    await terminal.sendAfter('> ', 'Oslo');
    await terminal.sendAfter('result of get_weather {"city":"Oslo"}: ', 'snow');
    await terminal.waitFor('get_weather: snow. ');
  });

  it('lets the call fail when the input ends at the question', async () => {
    await using terminal = chat();
    await terminal.sendAfter('> ', 'Paris');
    await terminal.waitFor('result of get_weather {"city":"Paris"}: ');
    terminal.sendKey('ctrl-d');
    await terminal.waitFor('-- no result was given for get_weather {"city":"Paris"}');
    await terminal.waitFor('get_weather failed: no result was given. ');
    expect(await terminal.exitCode()).toBe(0);
  });

  it('takes the question back when the turn waits no longer', async () => {
    await using terminal = chat(await write('impatient.json', graph({ results_timeout_ms: 200 })));
    await terminal.sendAfter('> ', 'Paris');
    await terminal.waitFor('Nobody answers.');
    await terminal.sendAfter('> ', 'hello');
    await terminal.waitFor('> ');
    terminal.sendKey('ctrl-d');
    expect(await terminal.exitCode()).toBe(0);
    expect(terminal.output).not.toContain('Nobody answers.hello');
  });
});

describe('a result that comes when its turn has ended', () => {
  it('is not used, and the user is told', async () => {
    const written = vi.spyOn(process.stderr, 'write').mockReturnValue(true);
    try {
      await using client = await connect(server().url);
      await client.configure({ engine: 'mock' });
      await using agent = await client.createAgent({ graph: graph() });
      const told = new Promise<string>((resolve) => {
        written.mockImplementation((text) => {
          resolve(String(text));
          return true;
        });
      });
      const answers = turnAnswers(agent, {
        answer: async () => {
          turn.cancel();
          await turn;
          return { result: { content: 'late' } };
        },
      });
      const turn = agent.send('Paris', { onCall: (call) => answers.add(call) });
      expect((await turn).status).toBe('CANCELLED');
      expect(await told).toMatch(/^-- the result of get_weather was not used: agent 1 is in no turn; /);
    } finally {
      written.mockRestore();
    }
  });
});
