import { Command } from 'commander';
import { writeFile } from 'node:fs/promises';
import { describeFsError, readRegularFile } from '../../base/filesystem.ts';
import { findCasesFiles, recordingName, stepName } from '../graphTests/casesFile.ts';
import { openCaseSession, type CaseSession, type CaseResult } from '../graphTests/caseSession.ts';
import { testFile, type FileResult, type TestOptions } from '../graphTests/testFile.ts';
import { untilInterrupted } from '../interrupt.ts';
import { engineOptions, ownServerOptions, serverFlags, UsageError, type ServerFlags } from '../options.ts';
import { colorsFor, printable, printableLines } from '../output/terminalText.ts';
import { testJson, describeBegin, describeCase, describeTotals, describeFailures } from '../output/testReport.ts';
import { existsSync } from 'node:fs';
import { dirname, isAbsolute, join } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import type { ServerOptions } from '../../server/config.ts';
import { referencesOf } from '../../graph/compile/document.ts';
import { tryParseJson } from '../../base/jsonTypes.ts';
import { FileWatcher } from '../../inference/models/catalogue/fileWatcher.ts';

interface TestFlags extends ServerFlags {
  readonly model?: string;
  readonly runs?: string;
  readonly minPass?: string;
  readonly junit?: string;
  readonly json?: boolean;
  readonly watch?: boolean;
}

const examples = `
Examples:
  turngraph test lamp.cases.json                            on the mock engine, with recorded answers
  turngraph test graphs/tests                               all cases files of a folder
  turngraph test lamp.cases.json --watch                    again whenever a file changes
  turngraph test lamp.cases.json --junit report.xml         for CI
  turngraph test lamp.cases.json --runs 10 --min-pass 90%   on the model of the graph

The exit code is 1 when a case fails or a file cannot be used, and 2 for wrong usage.`;

export const testCommand = (): Command =>
  serverFlags(
    new Command('test')
      .description('run test cases of graphs: on recorded answers, or on a model')
      .argument('<cases...>', 'cases files, or folders with files that end in .cases.json')
      .option('--model <name>', 'run on a model: a name in the catalogue, or a .gguf file')
      .option('--runs <n>', "run each case so often on a model, by default on the graph's own (default 1)")
      .option('--min-pass <share>', 'share of the runs that must pass: 0 to 1, or a percentage (default 1)')
      .option('--junit <file>', 'write the results as JUnit XML, too')
      .option('--json', 'one line of JSON for each cases file, with the trace of each turn')
      .option('--watch', 'run again when a cases file, its graph or its recording changes')
      .addHelpText('after', examples),
    ['mockScript', 'graphs', 'catalogue', 'models', 'cache', 'cacheLimit', 'extend', 'storageRoot', ...engineOptions],
  ).action((given: string[], { json = false, watch = false, junit, ...flags }: TestFlags) =>
    untilInterrupted('interrupted', async (signal) => {
      const settings = ownServerOptions({ ...flags, slots: 1, token: '' });
      const options = { ...testOptions(flags, settings.mockScript), signal };
      const { usesModels } = options;
      await using session = await openCaseSession({ settings, model: flags.model ?? '', usesModels });
      const paths = await findCasesFiles(given);
      const run = async (): Promise<void> => {
        process.exitCode = (await testFiles(paths, session, options, json, junit)) ? 0 : 1;
      };
      if (watch) await runOnChanges(paths, settings, signal, run);
      else await run();
    }),
  );

/** Runs once, and again whenever a file has changed, until the signal is aborted. */
async function runOnChanges(
  paths: readonly string[],
  settings: WatchSettings,
  signal: AbortSignal,
  run: () => Promise<void>,
): Promise<void> {
  while (!signal.aborted) {
    // Read before the run: a change during it is one, too.
    const texts = await readWatchedFiles(paths, settings);
    await run();
    process.stderr.write('watching; Ctrl-C ends\n');
    const onFailure = (reason: string): void => void process.stderr.write(`not watched: ${reason}\n`);
    const changed = await untilChanged(texts, signal, onFailure);
    if (changed !== undefined) process.stderr.write(`\n${changed} has changed\n`);
  }
}

/** Reads the options of the runs. @throws UsageError */
function testOptions({ model, runs, minPass }: TestFlags, mockScript: string): Omit<TestOptions, 'signal'> {
  const usesModels = model !== undefined || runs !== undefined;
  if (usesModels && mockScript !== '')
    throw new UsageError('--mock-script cannot be used with --model or --runs, which run on a model');
  if (!usesModels && minPass !== undefined)
    throw new UsageError('--min-pass needs --runs N: the mock engine answers the same way every time');
  return { usesModels, mockScript, runs: readRuns(runs ?? '1'), minPass: readShare(minPass ?? '1') };
}

function readRuns(text: string): number {
  const runs = Number(text);
  if (!/^\d+$/.test(text) || runs < 1 || runs > 10_000)
    throw new UsageError(`--runs must be from 1 to 10000, not ${text}`);
  return runs;
}

function readShare(text: string): number {
  const [, number = '', sign] = /^(\d+(?:\.\d+)?|\.\d+)(%?)$/.exec(text) ?? [];
  const share = number === '' ? NaN : Number(number) / (sign === '%' ? 100 : 1);
  if (share >= 0 && share <= 1) return share;
  throw new UsageError(`--min-pass must be from 0 to 1, or a percentage such as 90%, not ${text}`);
}

/** Runs the cases of files one after the other, and prints what comes of them. Returns whether all passed. */
async function testFiles(
  paths: readonly string[],
  session: CaseSession,
  options: TestOptions,
  json: boolean,
  junit: string | undefined,
): Promise<boolean> {
  const start = performance.now();
  const colors = colorsFor(process.stdout);
  const print = (text: string): void => void (json || process.stdout.write(text));
  const results: FileResult[] = [];
  for (const path of paths) {
    const result = await testFile(path, session, {
      ...options,
      onBegin: (begun) => print(describeBegin(begun)),
      onCase: (done) => print(describeCase(done, colors)),
    });
    results.push(result);
    if (json) process.stdout.write(`${testJson(result)}\n`);
    for (const warning of result.warnings) process.stderr.write(`warning: ${result.graph}: ${printable(warning)}\n`);
    if (result.error !== undefined) process.stderr.write(`${printableLines(result.error)}\n`);
  }
  print(describeTotals(results, performance.now() - start));
  if (junit !== undefined) await writeReport(junit, junitReport(results));
  return results.every(({ error, cases }) => error === undefined && cases.every(({ ok }) => ok));
}

const writeReport = (path: string, text: string): Promise<void> =>
  writeFile(path, text).catch((error: unknown) => {
    throw new Error(`--junit ${path} cannot be written: ${describeFsError(error)}`, { cause: error });
  });

/** The texts of files by path; undefined: there is no such file. */
type FileTexts = ReadonlyMap<string, string | undefined>;
type WatchSettings = Pick<ServerOptions, 'graphs' | 'mockScript' | 'storageRoot'>;

/** The texts of cases files, and of all files that they may name: they may have errors, or not be there yet. */
export async function readWatchedFiles(cases: readonly string[], settings: WatchSettings): Promise<FileTexts> {
  const texts = new Map<string, string | undefined>();
  const add = async (path: string): Promise<string | undefined> => {
    const text = await readText(path);
    // A folder that is not there cannot be watched.
    if (text !== undefined || existsSync(dirname(path))) texts.set(path, text);
    return text;
  };
  for (const path of cases) {
    const { graph, recording } = namedIn(path, await add(path), settings);
    await add(recording);
    for (const graphPath of graph)
      for (const storage of storagesIn(graphPath, await add(graphPath), settings)) await add(storage);
  }
  return texts;
}

function namedIn(path: string, text: string | undefined, { graphs, mockScript }: WatchSettings) {
  const { graph, recording } = Object(tryParseJson(text ?? '')) as Partial<Record<'graph' | 'recording', unknown>>;
  const at = (name: string): string => (isAbsolute(name) ? name : join(dirname(path), name));
  return {
    graph: typeof graph === 'string' ? [at(graph), join(graphs, `${graph}.json`)] : [],
    recording: mockScript || join(dirname(path), typeof recording === 'string' ? recording : recordingName(path)),
  };
}

/** The files of strings that the nodes of a graph may name. */
function storagesIn(path: string, text: string | undefined, { storageRoot }: WatchSettings): readonly string[] {
  return referencesOf(tryParseJson(text ?? '')).storages.map((name) => join(storageRoot || dirname(path), name));
}

const readText = async (path: string): Promise<string | undefined> =>
  (await readRegularFile(path).catch(() => undefined))?.toString();

/** Writing a file takes less, in milliseconds. */
const settleMs = 100;

/** The path of the first file with another text; undefined: aborted. @param onFailure of a watch; it polls then. */
export async function untilChanged(
  texts: FileTexts,
  signal: AbortSignal,
  onFailure: (reason: string) => void,
): Promise<string | undefined> {
  const watchers: FileWatcher[] = [];
  // The watches of files do not keep the process alive.
  const keepAlive = setInterval(() => undefined, 2 ** 30);
  try {
    return await new Promise((done) => {
      signal.addEventListener('abort', () => done(undefined), { once: true });
      if (signal.aborted) done(undefined);
      for (const [path, text] of texts) {
        const onChange = async (): Promise<{ readonly retry: boolean }> => {
          if ((await readText(path)) === text) return { retry: false };
          // Read while it was written, it is empty for a moment.
          await wait(settleMs);
          if ((await readText(path)) !== text) done(path);
          return { retry: false };
        };
        watchers.push(new FileWatcher({ path, onChange, onFailure }));
      }
    });
  } finally {
    clearInterval(keepAlive);
    await Promise.all(watchers.map((watcher) => watcher[Symbol.asyncDispose]()));
  }
}

/** The results of cases as JUnit XML, for CI: a test suite for each file, and a test case for each case. */
export function junitReport(files: readonly FileResult[]): string {
  const suites = files.map(suiteOf);
  const cases = files.flatMap((file) => file.cases);
  const counts = countsOf(cases, files.filter(({ error }) => error !== undefined).length);
  return `<?xml version="1.0" encoding="UTF-8"?>\n${element('testsuites', { name: 'turngraph', ...counts }, suites)}\n`;
}

function suiteOf({ path, cases, error }: FileResult): string {
  const cause = error === undefined ? [] : [textElement('error', error, { message: firstLine(error) })];
  const broken = cause.map((child) => element('testcase', { name: 'runs', classname: path, time: '0' }, [child]));
  return element('testsuite', { name: path, ...countsOf(cases, broken.length) }, [
    ...broken,
    ...cases.map((result) => testCase(path, result)),
  ]);
}

function testCase(path: string, result: CaseResult): string {
  const { name, ok, runs, passed, durationMs } = result;
  const failures = describeFailures(result, colorsFor({}));
  const rate = runs.length > 1 ? `${passed} of ${runs.length} runs passed` : '';
  const message = [rate, firstMessage(result)].filter((part) => part !== '').join('; ');
  return element('testcase', { name, classname: path, time: seconds(durationMs) }, [
    ...(ok ? [] : [textElement('failure', failures, { message, type: 'expectation' })]),
    textElement('system-out', traceText(result)),
  ]);
}

const firstMessage = ({ runs }: CaseResult): string => {
  const turns = runs.flatMap((run) => run.turns.map((turn, index) => ({ ...turn, number: index + 1 })));
  const failed = turns.find(({ mismatches }) => mismatches.length > 0);
  const [mismatch] = failed?.mismatches ?? [];
  return failed && mismatch ? `turn ${failed.number}: ${mismatch.what}: ${mismatch.message}` : '';
};

const traceText = ({ runs: [run] }: CaseResult): string =>
  (run?.turns ?? [])
    .map(({ trace }) => `> ${trace.user}\n  ${trace.path.map(stepName).join(', ')}\n< ${trace.text}`)
    .join('\n');

const countsOf = (cases: readonly CaseResult[], errors: number) => ({
  tests: String(cases.length + errors),
  failures: String(cases.filter(({ ok }) => !ok).length),
  errors: String(errors),
  time: seconds(cases.reduce((sum, { durationMs }) => sum + durationMs, 0)),
});

const seconds = (ms: number): string => (ms / 1000).toFixed(3);
const firstLine = (text: string): string => text.split('\n', 1)[0] ?? '';

function element(name: string, attributes: Readonly<Record<string, string>>, children: readonly string[] = []): string {
  // A parser takes a line break in an attribute for a space.
  const start = [
    name,
    ...Object.entries(attributes).map(([key, value]) => `${key}="${escapeXml(value).replaceAll('\n', '&#10;')}"`),
  ].join(' ');
  if (children.length === 0) return `<${start}/>`;
  return `<${start}>\n${children.join('\n')}\n</${name}>`;
}

const textElement = (name: string, text: string, attributes: Readonly<Record<string, string>> = {}): string =>
  element(name, attributes).replace(/\/>$/, () => `>${escapeXml(text)}</${name}>`);

const entities: Readonly<Record<string, string>> = {
  '<': '&lt;',
  '>': '&gt;',
  '&': '&amp;',
  '"': '&quot;',
  "'": '&apos;',
};

// XML 1.0 has no control characters but these three, not even escaped, and no lone surrogates.
const forbidden = /[^\t\n\r\u0020-\uD7FF\uE000-\uFFFD\u{10000}-\u{10FFFF}]/gu;

const escapeXml = (text: string): string =>
  text
    .replaceAll(forbidden, '\uFFFD')
    .replaceAll(/[<>&"']/g, (character) => entities[character] ?? character)
    .replaceAll(/[\r\t]/g, (character) => `&#${character.charCodeAt(0)};`);
