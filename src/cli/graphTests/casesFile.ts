import { readdir } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { Fault } from '../../protocol/fault.ts';
import { isObject } from '../../base/jsonTypes.ts';
import { describePointer } from '../../base/jsonPointer.ts';
import { createReader, errorsBelow, type SchemaError } from '../../protocol/schema.ts';
import { readRegularFile } from '../../base/filesystem.ts';
import { findGraph, describeMistakes, readJsonFile, readValidJson, type JsonFile } from '../findGraph.ts';
import { UsageError } from '../options.ts';
import { findContentErrors, isPartOf } from '../callAnswers.ts';
import { casesSchema, type CasesDocument, type GraphCase, type CaseTurn } from './casesSchema.ts';
import { RE2JS, RE2JSSyntaxException } from 're2js';
import { didYouMean } from '../../base/didYouMean.ts';
import type { TracedCall, TracedStep, TurnTrace } from './turnTrace.ts';

/** A cases file that has been read, and the files that it names. */
export interface CasesFile {
  readonly path: string;
  readonly cases: readonly GraphCase[];
  /** The graph; not checked yet. */
  readonly graph: JsonFile;
  /** The path of the recording, whether it exists or not. */
  readonly recording: string;
  /** `file:line:column` where the file names its recording, which then has to exist; undefined: it does not name it. */
  readonly recordingPlace: string | undefined;
}

/** All errors of a cases file, or of a file that it names: one line each. */
export class CasesFileError extends Error {}

const readDocument = createReader(casesSchema);

/** Reads a cases file and its graph's text. @throws CasesFileError with each place: `file:1:2: cases[0].graph ...`. */
export async function readCasesFile(path: string, graphs: string): Promise<CasesFile> {
  const file = await readValidJson(path).catch((error: Error) => {
    throw new CasesFileError(error.message, { cause: error });
  });
  const value: unknown = JSON.parse(file.text);
  const casesPath = `${join(path).replace(/\.json$/i, '')}.cases.json`;
  if (isObject(value) && 'start_node' in value)
    throw new CasesFileError(`${path}: is a graph; give its cases file, such as ${casesPath}`);
  const reading = readDocument(value);
  if (!reading.ok) throw failure(file, reading.errors);
  const document = reading.value;
  const graph = await readGraph(file, document.graph, graphs);
  const errors = [...findErrors(document, nodesOf(graph))];
  if (errors.length > 0) throw failure(file, errors);
  return {
    path,
    cases: document.cases,
    graph,
    recording: join(dirname(path), document.recording ?? recordingName(path)),
    recordingPlace: document.recording === undefined ? undefined : file.positionOf('/recording'),
  };
}

/** The cases files of a command: files, or all of a folder. @throws UsageError when a folder has none. */
export async function findCasesFiles(paths: readonly string[]): Promise<readonly string[]> {
  const files = await Promise.all(
    paths.map(async (path) => {
      const names = await readdir(path).catch(() => undefined);
      if (!names) return [path];
      const cases = names.filter((name) => /\.cases\.json$/i.test(name)).sort();
      if (cases.length === 0) throw new UsageError(`${path} is a folder without a file that ends in .cases.json`);
      return cases.map((name) => join(path, name));
    }),
  );
  return files.flat();
}

/** The default name of the recording of a cases file. */
export function recordingName(path: string): string {
  return `${basename(path).replace(/(?:\.cases)?\.json$/i, '')}.mock.json`;
}

function failure(file: JsonFile, errors: readonly SchemaError[]): CasesFileError {
  const sentenceOf = ({ pointer, message }: SchemaError): string =>
    `${describePointer(pointer).replace(/^\./, '') || 'the cases file'} ${message}`;
  return new CasesFileError(describeMistakes(file, errors, sentenceOf));
}

async function readGraph(file: JsonFile, name: string, graphs: string): Promise<JsonFile> {
  const fail = (error: Error): never => {
    throw new CasesFileError(`${file.positionOf('/graph')}: graph: ${error.message}`, { cause: error });
  };
  const { path } = await findGraph(name, graphs, dirname(file.path)).catch((error: unknown) => {
    if (error instanceof Fault) return fail(error);
    throw error;
  });
  const graph = await readJsonFile(path, readRegularFile).catch(fail);
  if (graph.syntaxError === undefined) return graph;
  throw new CasesFileError(graph.syntaxError);
}

/** The names of the nodes of a graph that may have errors. */
function nodesOf({ text }: JsonFile): readonly string[] {
  const { nodes } = Object(JSON.parse(text)) as { readonly nodes?: unknown };
  return Object.keys(Object(nodes) as object);
}

function* findErrors({ cases }: CasesDocument, nodes: readonly string[]): Generator<SchemaError> {
  const names = cases.map(({ name }) => name);
  for (const [index, { name, turns }] of cases.entries()) {
    const first = names.indexOf(name);
    if (first < index)
      yield { pointer: `/cases/${index}/name`, message: `is the name of cases[${first}], too; give it another one` };
    for (const [position, { results, expect }] of turns.entries()) {
      const pointer = `/cases/${index}/turns/${position}`;
      yield* errorsBelow(`${pointer}/results`, findContentErrors(results));
      yield* errorsBelow(`${pointer}/expect`, expectationErrors(expect, nodes));
    }
  }
}

/** Whether a document is no graph, but has test cases or is a mock script: `check` skips it. */
export function isTestFile(document: unknown): boolean {
  if (Array.isArray(document)) return document.length > 0 && document.every(isScriptEntry);
  const { graph, cases, nodes } = Object(document) as Readonly<Record<string, unknown>>;
  return typeof graph === 'string' && Array.isArray(cases) && nodes === undefined;
}

const isScriptEntry = (entry: unknown): boolean => isObject(entry) && ('answer' in entry || 'scores' in entry);

export interface Mismatch {
  readonly what: 'path' | 'calls' | 'fields' | 'text' | 'error';
  /** One sentence. */
  readonly message: string;
  /** The expected and the actual lines; [] where the sentence says it all. */
  readonly diff: readonly DiffLine[];
}

type Expectation = CaseTurn['expect'];
type TextPatterns = Exclude<NonNullable<Expectation['text']>, string>;

/** The mistakes in an expectation that its schema does not see: patterns that do not compile, and unknown nodes. */
function* expectationErrors({ path = [], text }: Expectation, nodes: readonly string[]): Generator<SchemaError> {
  for (const [index, step] of path.entries()) {
    if (nodes.some((node) => step === node || step.startsWith(`${node}.`))) continue;
    const hint = didYouMean(step.replace(/\.[^.]*$/, ''), nodes);
    yield { pointer: `/path/${index}`, message: `names no node of the graph: "${step}"${hint}` };
  }
  if (text === undefined || typeof text === 'string') return;
  if (Object.keys(text).length === 0)
    yield { pointer: '/text', message: 'expects nothing; give contains, matches or not_matches, or a text' };
  for (const name of ['matches', 'not_matches'] as const) {
    const problem = findPatternProblem(text[name] ?? '');
    if (problem === undefined) continue;
    const message = `is not a supported pattern (RE2 syntax, no lookaround or backreferences): ${problem}`;
    yield { pointer: `/text/${name}`, message };
  }
}

/** Compares a turn with what is expected of it. A turn that failed meets no expectation. */
export function findMismatches(expected: Expectation, trace: TurnTrace): readonly Mismatch[] {
  if (trace.error !== undefined) {
    const message = `the turn failed after ${trace.path.map(stepName).join(', ') || 'no node'}: ${trace.error}`;
    return [{ what: 'error', message, diff: [] }];
  }
  return [
    ...(expected.path ? comparePath(expected.path, trace.path) : []),
    ...(expected.calls ? compareCalls(expected.calls, trace.calls) : []),
    ...compareFields(expected.fields ?? {}, trace.fields ?? {}),
    ...(expected.text === undefined ? [] : compareText(expected.text, trace.text)),
  ];
}

function comparePath(expected: readonly string[], actual: readonly TracedStep[]): readonly Mismatch[] {
  const fits = (step: string, ran: TracedStep): boolean => step === ran.node || step === stepName(ran);
  const diff = diffLines(expected, actual, fits, (item) => (typeof item === 'string' ? item : stepName(item)));
  return mismatchIn('path', 'another path', diff);
}

/** A step of a path as it is written in expectations: `guard.triggered`. */
export const stepName = ({ node, exit }: TracedStep): string => `${node}.${exit}`;

function compareCalls(expected: NonNullable<Expectation['calls']>, actual: readonly TracedCall[]): readonly Mismatch[] {
  const fits = (one: (typeof expected)[number], call: TracedCall): boolean =>
    one.tool === call.tool && isPartOf(one.arguments, call.arguments);
  const diff = diffLines(expected, actual, fits, ({ tool, arguments: args }) => `${tool} ${JSON.stringify(args)}`);
  const message = expected.length === 0 ? 'a call where none is expected' : 'other calls';
  return mismatchIn('calls', actual.length === 0 ? 'no call' : message, diff);
}

function compareFields(
  expected: NonNullable<Expectation['fields']>,
  actual: NonNullable<TurnTrace['fields']>,
): readonly Mismatch[] {
  const linesOf = (values: NonNullable<TurnTrace['fields']>) =>
    Object.keys(expected).map((name) => `${name}: ${JSON.stringify(values[name])}`);
  const diff = diffLines(linesOf(expected), linesOf(actual), (a, b) => a === b);
  return mismatchIn('fields', 'other fields', diff);
}

function compareText(expected: string | TextPatterns, actual: string): readonly Mismatch[] {
  const quoted = JSON.stringify(actual);
  if (typeof expected === 'string')
    return mismatchIn(
      'text',
      'another text',
      diffLines([JSON.stringify(expected)], [quoted], (a, b) => a === b),
    );
  const { contains, matches, not_matches: notMatches } = expected;
  const problems = [
    contains !== undefined && !actual.includes(contains) && `does not contain ${JSON.stringify(contains)}`,
    matches !== undefined && !isMatch(matches, actual) && `does not match ${JSON.stringify(matches)}`,
    notMatches !== undefined && isMatch(notMatches, actual) && `matches ${JSON.stringify(notMatches)}`,
  ];
  return problems.flatMap((problem) =>
    problem === false ? [] : [{ what: 'text', message: `the text ${problem}`, diff: [{ mark: '+', line: quoted }] }],
  );
}

const mismatchIn = (what: Mismatch['what'], message: string, diff: readonly DiffLine[]): readonly Mismatch[] =>
  diff.every(({ mark }) => mark === ' ') ? [] : [{ what, message, diff }];

const isMatch = (pattern: string, text: string): boolean => RE2JS.compile(pattern).matcher(text).find();

function findPatternProblem(pattern: string): string | undefined {
  try {
    RE2JS.compile(pattern);
    return undefined;
  } catch (error) {
    if (!(error instanceof RE2JSSyntaxException)) throw error;
    return error.error;
  }
}

/** One line of a diff: ` ` = as expected, `-` = expected and missing, `+` = there and not expected. */
export interface DiffLine {
  readonly mark: ' ' | '-' | '+';
  readonly line: string;
}

/** The smallest diff of two lists (longest common subsequence). A line that is as expected is shown as it is. */
export function diffLines<Expected, Actual>(
  expected: readonly Expected[],
  actual: readonly Actual[],
  fits: (expected: Expected, actual: Actual) => boolean,
  lineOf: (item: Expected | Actual) => string = String,
): readonly DiffLine[] {
  // How many lines are as expected in the rests that begin at an expected and an actual item.
  const common = Array.from({ length: expected.length + 1 }, () => new Uint32Array(actual.length + 1));
  const commonAt = (i: number, j: number): number => common[i]?.[j] ?? 0;
  for (const [i, wanted] of [...expected.entries()].reverse())
    for (const [j, got] of [...actual.entries()].reverse())
      common[i]?.set(
        [fits(wanted, got) ? commonAt(i + 1, j + 1) + 1 : Math.max(commonAt(i + 1, j), commonAt(i, j + 1))],
        j,
      );
  const lines: DiffLine[] = [];
  for (let [i, j] = [0, 0]; i < expected.length || j < actual.length;) {
    const [wanted, got] = [expected[i] as Expected, actual[j] as Actual];
    const isMissing = j === actual.length || (i < expected.length && commonAt(i + 1, j) >= commonAt(i, j + 1));
    const mark = i < expected.length && j < actual.length && fits(wanted, got) ? ' ' : isMissing ? '-' : '+';
    lines.push({ mark, line: lineOf(mark === '-' ? wanted : got) });
    if (mark !== '+') i++;
    if (mark !== '-') j++;
  }
  return lines;
}
