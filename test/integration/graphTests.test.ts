import { readdirSync } from 'node:fs';
import { symlink, writeFile } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { CaseSession } from '../../src/cli/graphTests/caseSession.ts';
import { GraphFolder } from '../../src/graph/compile/graphFolder.ts';
import { CasesFolder, openSession, runFile } from '../helpers/graphCases.ts';
import { repositoryPath } from '../helpers/server.ts';

const testsFolder = repositoryPath('graphs/tests');
const shipped = readdirSync(testsFolder)
  .filter((name) => name.endsWith('.cases.json'))
  .map((name) => basename(name, '.cases.json'));

let session: CaseSession;
let folder: CasesFolder;
beforeAll(async () => {
  session = await openSession();
  folder = await CasesFolder.create();
});
afterAll(async () => {
  await session[Symbol.asyncDispose]();
  await folder[Symbol.asyncDispose]();
});

describe('the cases of the shipped graphs', () => {
  it('are there for every graph, and no graph themselves', async () => {
    const names = await new GraphFolder(repositoryPath('graphs')).names();
    expect(shipped).toEqual([...names].sort());
  });

  it('pass for the help desk of the examples, whose words are vectors of the mock engine', async () => {
    const { error, cases } = await runFile(repositoryPath('examples/help-desk/help-desk.cases.json'), session);
    expect(error).toBeUndefined();
    expect(cases.map(({ ok }) => ok)).toEqual([true, true, true]);
  });

  it.each(shipped)('pass with their recording, which gives the same trace twice, byte for byte: %s', async (name) => {
    const traces: string[] = [];
    for (const _ of [1, 2]) {
      const { error, cases, warnings } = await runFile(`${testsFolder}/${name}.cases.json`, session);
      expect({ error, warnings }).toEqual({ error: undefined, warnings: [] });
      expect(cases.length).toBeGreaterThanOrEqual(2);
      const turns = cases.flatMap(({ runs }) => runs.flatMap((run) => run.turns));
      expect(cases.flatMap(({ name: title, ok }) => (ok ? [] : [title]))).toEqual([]);
      expect(turns.flatMap(({ notes }) => notes)).toEqual([]);
      traces.push(JSON.stringify(turns.map(({ trace }) => trace)));
    }
    expect(traces[1]).toBe(traces[0]);
  });
});

/** A graph that waits for results, and says what came of them; without a call it talks. */
const graph = {
  start_node: 'detect',
  nodes: {
    detect: {
      type: 'ToolCall',
      params: { tools: [{ name: 'find', description: 'Finds a person.', parameters: [] }], await_results: true },
      exits: { tool_called: 'report', no_tool_called: 'talk' },
    },
    report: {
      type: 'CannedResponse',
      params: { inline_strings: ['{{#tool_results}}{{content}}{{/tool_results}} {{who}}'] },
    },
    talk: { type: 'Generate' },
  },
};
const call = '<tool_call>\n{"name": "find", "arguments": {}}\n</tool_call>';

/** Runs one case with turns on a graph, and a mock script. */
async function runTurns(turns: readonly object[], script?: readonly object[]) {
  await folder.write('find.json', graph);
  const path = await folder.write('find.cases.json', { graph: 'find.json', cases: [{ name: 'finds', turns }] });
  const mockScript = script ? await folder.write('script.json', script) : '';
  const result = await runFile(path, session, { mockScript });
  return { ...result, turns: result.cases[0]?.runs[0]?.turns ?? [] };
}

describe('a case on the mock engine', () => {
  const answers = [
    { match: 'Ann', node: 'detect', answer: call },
    { match: 'Ann', answer: 'No.' },
  ];

  it('gives results and variables to its turns', async () => {
    const turn = { user: 'Where is Ann?', variables: { who: 'Ann!' }, results: [{ tool: 'find', content: 'hall' }] };
    const { turns } = await runTurns([{ ...turn, expect: { text: 'hall Ann!', calls: [{ tool: 'find' }] } }], answers);
    expect(turns).toMatchObject([{ mismatches: [], notes: [], trace: { text: 'hall Ann!' } }]);
  });

  it('lets a call without a result fail, and says so', async () => {
    const { turns } = await runTurns([{ user: 'Where is Ann?' }], answers);
    expect(turns[0]?.trace.text).toMatch(/^no result is known/);
    expect(turns[0]?.notes).toEqual([
      '"results" has no entry for find {}: the call fails; add {"tool": "find", "content": ...}',
    ]);
  });

  it('names the inference that no entry of the script answers', async () => {
    const { turns } = await runTurns([{ user: 'Hello.' }], answers);
    expect(turns[0]?.notes.map((note) => note.replace(/^.*script/, 'script'))).toEqual([
      'script.json has no entry for detect, inference 1 of the turn, for "Hello.": the mock engine made up an answer; record again, or add an entry',
      'script.json has no entry for talk, inference 2 of the turn, for "Hello.": the mock engine made up an answer; record again, or add an entry',
    ]);
  });

  it('uses the default answer without a recording, and names the recording only where a case fails', async () => {
    expect(await runTurns([{ user: 'Hello.', expect: { text: 'You said: Hello.' } }])).toMatchObject({ warnings: [] });
    const { warnings, path } = await runTurns([{ user: 'Hello.', expect: { text: 'Hi.' } }]);
    expect(warnings).toEqual([
      `there is no ${path.replace('.cases', '.mock')}: the mock engine made up the answers of models; record them with turngraph record ${path}`,
    ]);
  });

  it('chooses entries by the case and its turn', async () => {
    const script = [
      { match: 'Hi', node: 'talk', answer: 'Two.', case: 'finds', turn: 2 },
      { match: 'Hi', node: 'talk', answer: 'One.', case: 'finds' },
      { answer: 'No call.' },
    ];
    const { turns } = await runTurns([{ user: 'Hi' }, { user: 'Hi' }, { user: 'Hi' }], script);
    expect(turns.map(({ trace }) => trace.text)).toEqual(['One.', 'Two.', 'One.']);
  });

  it('ends with a turn that fails', async () => {
    const long = 'x'.repeat(40_000);
    const { turns, cases } = await runTurns([{ user: 'Hello.' }, { user: long }, { user: 'Hello.' }]);
    expect(cases[0]?.ok).toBe(false);
    expect(turns).toHaveLength(2);
    expect(turns[1]?.mismatches[0]?.message).toMatch(/^the turn failed after no node: PROMPT_TOO_LARGE \(4004\): /);
  });

  it('has a turn that the server refuses', async () => {
    const { turns, error } = await runTurns([{ user: 'x'.repeat(300_000) }]);
    expect(error).toBeUndefined();
    expect(turns[0]?.mismatches[0]?.message).toMatch(/^the turn failed after no node: LIMIT_EXCEEDED \(2005\): /);
  });

  it('runs again with the recording that a file has now', async () => {
    const say = async (answer: string) => (await runTurns([{ user: 'Hello.' }], [{ answer }])).turns[0]?.trace.text;
    expect([await say('One.'), await say('Two.')]).toEqual(['One.', 'Two.']);
  });
});

it.each(['', '\uFEFF'])('cases, graphs and recordings may begin with a byte order mark: %j', async (mark) => {
  const graph = { start_node: 'a', nodes: { a: { type: 'CannedResponse', params: { inline_strings: ['Hé.'] } } } };
  const cases = { graph: 'marked.json', cases: [{ name: 'a', turns: [{ user: 'a', expect: { text: 'Hé.' } }] }] };
  await folder.write('marked.json', mark + JSON.stringify(graph));
  await folder.write('marked.mock.json', `${mark}[]`);
  const path = await folder.write('marked.cases.json', mark + JSON.stringify(cases));
  expect(await runFile(path, session)).toMatchObject({ cases: [{ ok: true }] });
  expect(await new GraphFolder(folder.path).read('marked')).toEqual(graph);
});

it('a graph that is not UTF-8 is refused', async () => {
  const latin = Buffer.from('{"a": "Hé."}', 'latin1');
  await writeFile(join(folder.path, 'latin.json'), latin);
  await expect(new GraphFolder(folder.path).read('latin')).rejects.toThrow('graph "latin" is not UTF-8; save it as');
  const path = await folder.write('latin.cases.json', {
    graph: 'latin.json',
    cases: [{ name: 'a', turns: [{ user: 'a' }] }],
  });
  expect((await runFile(path, session)).error).toMatch(/:1:2: graph: .*latin\.json is not UTF-8; save it as UTF-8$/);
});

it('a graphs folder does not take cases, recordings and schemas for graphs', async () => {
  for (const name of ['a.json', 'a.cases.json', 'a.mock.json', 'cases.schema.json', 'mock.json'])
    await folder.write(name, {});
  const names = await new GraphFolder(folder.path).names();
  expect(names.filter((name) => /^(?:a|mock|cases)(?:\.|$)/.test(name)).sort()).toEqual(['a', 'mock']);
});

describe('a cases file that cannot run', () => {
  it.each<readonly [string, object, RegExp]>([
    ['an unknown field', { cases: [], graf: 'a' }, /:1:13: graf is not known here; did you mean "graph"\?/],
    [
      'a recording that is not there',
      { graph: 'chat', recording: 'gone.json', cases: [{ name: 'a', turns: [{ user: 'a' }] }] },
      /:1:\d+: recording: there is no file .*gone\.json; record it with turngraph record /,
    ],
  ])('says why: %s', async (_, content, message) => {
    const { error, cases } = await runFile(await folder.write('bad.cases.json', content), session);
    expect(error).toMatch(message);
    expect(cases).toEqual([]);
  });

  it('names the faults of its graph with their places', async () => {
    await folder.write('wrong.json', {
      start_node: 'a',
      nodes: { a: { type: 'Generate', params: { strem: true } }, b: { typ: 1 } },
    });
    const path = await folder.write('wrong.cases.json', {
      graph: 'wrong.json',
      cases: [{ name: 'a', turns: [{ user: 'a' }] }],
    });
    const { error = '' } = await runFile(path, session);
    expect(error).toMatch(/wrong\.json:1:\d+: a\.params\.strem is not known here; did you mean "stream"\?/);
    expect(error).toMatch(/wrong\.json:1:\d+: b\.typ/);
  });

  it('has a recording that is no regular file', async () => {
    const cases = [{ name: 'a', turns: [{ user: 'a' }] }];
    const path = await folder.write('endless.cases.json', { graph: 'chat', recording: 'endless.json', cases });
    await symlink('/dev/zero', join(folder.path, 'endless.json'));
    expect((await runFile(path, session)).error).toMatch(/endless\.json cannot be read: it is not a regular file/);
  });

  it('has a mock script with an error', async () => {
    const path = await folder.write('script.cases.json', {
      graph: 'chat',
      cases: [{ name: 'a', turns: [{ user: 'a' }] }],
    });
    await folder.write('script.mock.json', [{ match: 'a' }]);
    expect((await runFile(path, session)).error).toMatch(/script\.mock\.json: \/0 must have an answer/);
  });
});
