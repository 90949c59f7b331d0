import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { chainGguf } from '../../scripts/gguf/chain.mjs';
import { byteLevelVocab } from '../../scripts/gguf/vocabulary.mjs';
import type { CaseSession } from '../../src/cli/graphTests/caseSession.ts';
import { Recorder, recordFile, type RecordOptions, type SavedRecording } from '../../src/cli/graphTests/recordFile.ts';
import type { FileResult } from '../../src/cli/graphTests/testFile.ts';
import { namedJsonTemplate } from '../helpers/dialectTemplates.ts';
import { CasesFolder, openSession, runFile } from '../helpers/graphCases.ts';
import { repositoryPath } from '../helpers/server.ts';

const recorder = new Recorder();
let session: CaseSession;
let folder: CasesFolder;
beforeAll(async () => {
  session = await openSession({ usesModels: true, watchEngine: (engine) => recorder.watch(engine) });
  folder = await CasesFolder.create();
});
afterAll(async () => {
  await session[Symbol.asyncDispose]();
  await folder[Symbol.asyncDispose]();
});

const record = (path: string, options: Partial<RecordOptions> = {}, own = session): Promise<SavedRecording> =>
  recordFile(path, own, {
    recorder,
    out: undefined,
    force: false,
    signal: new AbortController().signal,
    onCase: () => undefined,
    ...options,
  });
const tracesOf = ({ cases }: Pick<FileResult, 'cases'>) =>
  cases.map(({ runs: [run] }) => run?.turns.map(({ trace }) => trace));

describe('the cases of shipped graphs', () => {
  it.each(['lamp-switch', 'weather', 'receptionist'])(
    'pass on the demo model, and their recording there gives the same trace: %s',
    async (name) => {
      const path = repositoryPath(`graphs/tests/${name}.cases.json`);
      const { cases } = await runFile(path, session, { usesModels: true, runs: 1 });
      expect(cases.map(({ name: title, passed }) => [title, passed])).toEqual(
        cases.map(({ name: title }) => [title, 1]),
      );
      const out = join(folder.path, `${name}.mock.json`);
      const written = await record(path, { out });
      expect(written.differences).toEqual([]);
      const replayed = await runFile(path, session, { mockScript: out });
      expect(tracesOf(replayed)).toEqual(tracesOf({ cases }));
    },
  );
});

const sampled = {
  default_model_name: 'turngraph-demo',
  start_node: 'answer',
  nodes: {
    answer: {
      type: 'Generate',
      params: {
        template: '{{who}} says: {{user_message}}',
        placement: 'in_place_of_user',
        sampling: { temperature: 5, min_p: 0, max_tokens: 12 },
      },
    },
  },
};

describe('a recording', () => {
  it('has the answers to the message that a template makes, to equal messages, and those that were cut', async () => {
    await folder.write('said.json', sampled);
    const turns = [
      { user: 'Hello!', variables: { who: 'Ann' } },
      { user: 'Hello!', variables: { who: 'Ann' } },
      { user: 'Hello!', variables: { who: 'Bob' } },
    ];
    const cases = [
      { name: 'greets', turns },
      { name: 'greets again', turns },
    ];
    const path = await folder.write('said.cases.json', { graph: 'said.json', cases });
    const written = await record(path);
    expect(written.differences).toEqual([]);
    const entries = JSON.parse(await readFile(written.path, 'utf8')) as readonly Readonly<Record<string, unknown>>[];
    expect(entries.map(({ match }) => match)).toContain('^Ann says: Hello!$');
    expect(entries.some((entry) => entry['turn'] === 2 && entry['case'] === 'greets')).toBe(true);
    expect(entries.some((entry) => entry['finish'] === 'length')).toBe(true);
    expect(tracesOf(await runFile(path, session))).toEqual(tracesOf(written));
    // Each run has a seed of its own, so that the runs differ and a run can be repeated.
    const again = await record(path);
    expect(tracesOf(again)).toEqual(tracesOf(written));
    const [greets] = (await runFile(path, session, { usesModels: true, runs: 3 })).cases;
    const texts = greets?.runs.map((run) => run.turns.map(({ trace }) => trace.text).join('|'));
    expect(new Set(texts).size).toBe(3);
  });

  it('is not written where a turn fails, and does not replace a script that a person has written', async () => {
    await folder.write('said.json', sampled);
    const cases = [{ name: 'too long', turns: [{ user: 'x '.repeat(4000) }] }];
    const path = await folder.write('long.cases.json', { graph: 'said.json', cases });
    await expect(record(path)).rejects.toThrow(
      /long\.cases\.json: "too long", turn 1: PROMPT_TOO_LARGE .*; nothing was recorded/,
    );
    const script = JSON.stringify([{ match: 'hello', answer: 'Hi!' }]);
    const own = await folder.write('long.mock.json', script);
    await expect(record(path)).rejects.toThrow(
      /long\.mock\.json was not recorded: .* give --out another file, or --force/,
    );
    expect(await readFile(own, 'utf8')).toBe(script);
    await expect(record(path, { out: folder.path })).rejects.toThrow(
      /cannot be read, and is not replaced: it is a folder/,
    );
    await expect(record(path, { out: '/dev/null' })).rejects.toThrow(/not replaced: it is not a regular file/);
  });
});

/** A model that answers `<act>set_light<with>{...}</act>`, whatever it is asked. */
const caller = {
  vocab: byteLevelVocab({
    pre: 'llama-bpe',
    control: ['<eos>', '<|assistant|>', '<act>', '<with>', '</act>'],
    userDefined: ['set_light', '{"name": "porch", "on": true}'],
    bos: 0,
    eos: 0,
  }),
  chatTemplate: namedJsonTemplate,
  next: {
    '<|assistant|>': '<act>',
    '<act>': 'set_light',
    set_light: '<with>',
    '<with>': '{"name": "porch", "on": true}',
    '{"name": "porch", "on": true}': '</act>',
  },
};

describe('a model with tool calls in a layout of its own', () => {
  it('is recorded with calls that the mock engine reads', async () => {
    await writeFile(join(folder.path, 'caller.gguf'), chainGguf(caller));
    await using own = await openSession({
      usesModels: true,
      model: join(folder.path, 'caller.gguf'),
      watchEngine: (engine) => recorder.watch(engine),
    });
    const expected = { calls: [{ tool: 'set_light', arguments: { name: 'porch', on: true } }] };
    const cases = [{ name: 'calls', turns: [{ user: 'Light!', expect: expected }] }];
    const path = await folder.write('native.cases.json', { graph: repositoryPath('graphs/lamp-switch.json'), cases });
    const { differences, cases: recorded, path: out } = await record(path, {}, own);
    expect(recorded[0]?.ok).toBe(true);
    expect(differences).toEqual([]);
    expect(JSON.parse(await readFile(out, 'utf8'))).toMatchObject([
      { answer: '<tool_call>\n{"name":"set_light","arguments":{"name":"porch","on":true}}\n</tool_call>' },
    ]);
    expect((await runFile(path, session)).cases[0]?.ok).toBe(true);
  });
});
