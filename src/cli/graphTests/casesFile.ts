import { readdir } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { Fault } from '../../protocol/fault.ts';
import { isObject } from '../../base/jsonTypes.ts';
import { describePointer } from '../../base/jsonPointer.ts';
import { createReader, errorsBelow, type SchemaError } from '../../protocol/schema.ts';
import { readRegularFile } from '../../base/filesystem.ts';
import { findGraph, describeMistakes, readJsonFile, readValidJson, type JsonFile } from '../findGraph.ts';
import { UsageError } from '../options.ts';
import { findContentErrors } from '../callAnswers.ts';
import { casesSchema, type CasesDocument, type GraphCase } from './casesSchema.ts';
import { expectationErrors } from './expectation.ts';

/** A cases file that has been read, and the files that it names. */
export interface CasesFile {
  readonly path: string;
  readonly cases: readonly GraphCase[];
  /** The graph; not checked yet. */
  readonly graph: JsonFile;
  /** The path of the recording, whether it exists or not. */
  readonly recording: string;
  /** Whether the file names its recording, which then has to exist. */
  readonly namesRecording: boolean;
  /** `file:line:column` of the field `recording`. */
  readonly recordingPlace: string;
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
  if (isObject(value) && 'start_node' in value)
    throw new CasesFileError(
      `${path}: is a graph; give its cases file, such as ${join(dirname(path), casesName(path))}`,
    );
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
    namesRecording: document.recording !== undefined,
    recordingPlace: file.positionOf('/recording'),
  };
}

const casesName = (graph: string): string => `${basename(graph).replace(/\.json$/i, '')}.cases.json`;

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
