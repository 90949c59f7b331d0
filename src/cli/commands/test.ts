import { Command } from 'commander';
import { writeFile } from 'node:fs/promises';
import { describeFsError } from '../../base/filesystem.ts';
import { findCasesFiles } from '../graphTests/casesFile.ts';
import { type CaseSession, openCaseSession } from '../graphTests/caseSession.ts';
import { testFile, type FileResult, type TestOptions } from '../graphTests/testFile.ts';
import { readWatchedFiles, untilChanged, type WatchSettings } from '../graphTests/watchedFiles.ts';
import { untilInterrupted } from '../interrupt.ts';
import { engineOptions, ownServerOptions, serverFlags, UsageError } from '../options.ts';
import { colorsFor, printable, printableLines } from '../output/terminalText.ts';
import { junitReport } from '../output/junitReport.ts';
import { testJson, describeBegin, describeCase, describeTotals } from '../output/testReport.ts';

interface TestFlags {
  readonly model?: string;
  readonly runs?: string;
  readonly minPass?: string;
  readonly junit?: string;
  readonly json?: boolean;
  readonly watch?: boolean;
  readonly [serverFlag: string]: unknown;
}

const examples = `
Examples:
  turngraph test lamp.cases.json                            on the mock engine, with recorded answers
  turngraph test graphs/tests                               all cases files of a folder
  turngraph test lamp.cases.json --watch                    again whenever a file changes
  turngraph test lamp.cases.json --junit report.xml         for CI
  turngraph test lamp.cases.json --runs 10 --min-pass 90%   on the model of the graph

The exit code is 1 when a case fails or a file cannot be used, and 2 for wrong usage.`;

/** `turngraph test`: unit tests of graphs, on the mock engine or on a model. */
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
        const ok = await testFiles(paths, session, options, json, junit);
        process.exitCode = ok ? 0 : 1;
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
