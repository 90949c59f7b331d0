import { mkdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { CasesFolder } from '../helpers/graphCases.ts';
import { useCommandHost } from './command.ts';

const runCommand = useCommandHost();

const graph = {
  default_model_name: 'turngraph-demo',
  start_node: 'guard',
  nodes: {
    guard: {
      type: 'Guardrail',
      params: { inline_strings: ['secret'] },
      exits: { triggered: 'refuse', not_triggered: 'talk' },
    },
    refuse: { type: 'CannedResponse', params: { inline_strings: ['No.'] } },
    talk: { type: 'Generate' },
  },
};
const refuses = { name: 'refuses', turns: [{ user: 'The secret?', expect: { path: ['guard.triggered', 'refuse'] } }] };
const talks = { name: 'talks', turns: [{ user: 'Hi', expect: { path: ['guard', 'talk'], text: 'Hello!' } }] };

let folder: CasesFolder;
beforeAll(async () => {
  folder = await CasesFolder.create();
  await folder.write('door.json', graph);
  await folder.write('door.cases.json', { graph: 'door.json', cases: [refuses] });
  await folder.write('talk.cases.json', { graph: 'door.json', cases: [refuses, talks] });
  await folder.write('typo.cases.json', { graph: 'door.json', cases: [{ ...refuses, turn: [] }] });
  await mkdir(join(folder.path, '.git'));
  await folder.write('hello.json', [{ answer: 'Hello!' }]);
});
afterAll(() => folder[Symbol.asyncDispose]());

const run = (...args: readonly string[]) => runCommand(args, '', {}, folder.path);
const withoutTimes = (text: string): string => text.replaceAll(/\(\d+\.\d s\)/g, '(0.0 s)');

describe('turngraph test', () => {
  it('exits with 0 when all cases pass, without a model and a recording', async () => {
    const { out, err, code } = await run('test', 'door.cases.json');
    expect(withoutTimes(out)).toBe(
      'door.cases.json: door.json on the mock engine\n  ok   refuses\n1 case in 1 file: 1 passed (0.0 s)\n',
    );
    expect({ err, code }).toEqual({ err: '', code: 0 });
  });

  it('shows the case, the turn and the difference, goes on with other files, and exits with 1', async () => {
    const { out, err, code } = await run('test', 'talk.cases.json', 'typo.cases.json', 'door.cases.json');
    expect(withoutTimes(out)).toMatchInlineSnapshot(`
      "talk.cases.json: door.json on the mock engine
        ok   refuses
        FAIL talks
          turn 1, "Hi":
            text: another text (- expected, + got)
            - "Hello!"
            + "You said: Hi"
            path: guard.not_triggered, talk.default
      door.cases.json: door.json on the mock engine
        ok   refuses
      3 cases in 3 files: 2 passed, 1 failed, 1 file could not run (0.0 s)
      "
    `);
    expect(err).toMatchInlineSnapshot(`
      "warning: door.json: there is no talk.mock.json: the mock engine made up the answers of models; record them with turngraph record talk.cases.json
      typo.cases.json:1:129: cases[0].turn is not known here; did you mean "turns"?
      "
    `);
    expect(code).toBe(1);
  });

  it('takes answers from --mock-script, and prints the traces as JSON', async () => {
    const { out, code } = await run('test', 'talk.cases.json', '--mock-script', 'hello.json', '--json');
    expect(code).toBe(0);
    expect(JSON.parse(out)).toMatchObject({
      file: 'talk.cases.json',
      ok: true,
      graph: 'door.json',
      cases: [
        { name: 'refuses', ok: true, passed: 1 },
        {
          name: 'talks',
          runs: [
            {
              ok: true,
              turns: [
                {
                  user: 'Hi',
                  path: ['guard.not_triggered', 'talk.default'],
                  calls: [],
                  text: 'Hello!',
                  warnings: [],
                  notes: [],
                  failures: [],
                },
              ],
            },
          ],
        },
      ],
    });
  });

  it('runs all cases files of a folder', async () => {
    await mkdir(join(folder.path, 'all'));
    for (const name of ['b', 'a'])
      await folder.write(`all/${name}.cases.json`, { graph: '../door.json', cases: [refuses] });
    await folder.write('all/other.json', {});
    const { out, code } = await run('test', 'all');
    expect(out.match(/^\S+\.json(?=:)/gm)).toEqual([join('all', 'a.cases.json'), join('all', 'b.cases.json')]);
    expect(code).toBe(0);
  });

  it('writes JUnit XML', async () => {
    const { code } = await run('test', 'talk.cases.json', '--junit', 'report.xml');
    expect(code).toBe(1);
    const xml = await readFile(join(folder.path, 'report.xml'), 'utf8');
    expect(xml).toMatch(
      /^<\?xml version="1\.0" encoding="UTF-8"\?>\n<testsuites name="turngraph" tests="2" failures="1" /,
    );
    expect(xml).toContain('<failure message="turn 1: text: another text"');
  });

  it.each<readonly [string, readonly string[], string]>([
    ['no file', [], "missing required argument 'cases'"],
    ['a folder without cases', ['.git'], '.git is a folder without a file that ends in .cases.json'],
    ['no runs', ['a.json', '--runs', '0'], '--runs must be from 1 to 10000, not 0'],
    ['runs that are no number', ['a.json', '--runs', '1.5'], '--runs must be from 1 to 10000, not 1.5'],
    [
      'a share above 1',
      ['a.json', '--runs', '2', '--min-pass', '2'],
      '--min-pass must be from 0 to 1, or a percentage',
    ],
    ['a share of nothing', ['a.json', '--min-pass', '90%'], '--min-pass needs --runs N'],
    ['a script and a model', ['a.json', '--runs', '2', '--mock-script', 'b.json'], '--mock-script cannot be used with'],
  ])('refuses wrong usage with exit code 2: %s', async (_, args, message) => {
    const { out, err, code } = await run('test', ...args);
    expect({ out, code }).toEqual({ out: '', code: 2 });
    expect(err).toContain(`error: ${message}`);
  });
});

describe('turngraph record', () => {
  it('refuses one output for several files with exit code 2', async () => {
    const { err, code } = await run('record', 'a.json', 'b.json', '--out', 'c.json');
    expect({ err, code }).toEqual({
      err: 'error: --out is one file, and there are 2 cases files; record them one by one\n',
      code: 2,
    });
  });

  it('tells what is wrong with a file, records the others, and exits with 1', async () => {
    const { out, err, code } = await run('record', 'typo.cases.json', 'door.cases.json');
    expect(out).toBe('typo.cases.json:\ndoor.cases.json:\n  ok   refuses\ndoor.mock.json: 0 entries written\n');
    expect(err).toMatch(/^typo\.cases\.json:1:\d+: cases\[0\]\.turn is not known here; did you mean "turns"\?\n$/);
    expect(code).toBe(1);
    expect(await readFile(join(folder.path, 'door.mock.json'), 'utf8')).toBe('[]\n');
  });
});

it('turngraph check skips cases files and recordings', async () => {
  const { out, err, code } = await run('check', 'door.json', 'door.cases.json', 'hello.json');
  expect(out).toBe('door.json: ok\n');
  expect(err).toBe(
    ['door.cases.json', 'hello.json'].map((name) => `${name}: skipped, it has test cases or a recording\n`).join(''),
  );
  expect(code).toBe(0);
});
