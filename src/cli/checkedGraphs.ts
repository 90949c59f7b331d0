import { basename, dirname, resolve } from 'node:path';
import { isObject } from '../base/jsonTypes.ts';
import { Fault } from '../protocol/fault.ts';
import type { CodeName } from '../protocol/frames.gen.ts';
import { SessionStorages } from '../graph/storage/sessionStorages.ts';
import { InvalidEntries } from '../graph/storage/invalidStorage.ts';
import { kindOfFile } from '../graph/storage/storageFile.ts';
import { StorageRoot } from '../graph/storage/storageRoot.ts';
import type { CheckContext, GraphCheckResult } from '../server/checkGraph.ts';
import type { ServerOptions } from '../server/config.ts';
import { readJsonFile, tryFindGraph } from './findGraph.ts';
import { isTestFile } from './graphTests/casesFile.ts';
import { checkPortedGraph } from './tryllNames.ts';

/** A file that was checked as the server would. */
export interface CheckedFile extends GraphCheckResult {
  readonly path: string;
  /** The faults with file, line and column. */
  readonly messages: readonly string[];
}

export interface CheckedGraph extends CheckedFile {
  /** The document; undefined: there is none that can be read. */
  readonly document: unknown;
  /** Where its storage files are. */
  readonly storageRoot: string;
}

type GraphOptions = Pick<ServerOptions, 'graphs' | 'storageRoot'>;

/** Finds and checks graphs, one after the other. A JSON Schema, test cases and a recording among them are skipped, which standard error says. */
export async function* checkedGraphs(
  graphs: readonly string[],
  { graphs: folder, storageRoot: root }: GraphOptions,
  context: Omit<CheckContext, 'storageRoot'>,
): AsyncGenerator<CheckedGraph> {
  for (const graph of graphs) {
    const { path, error } = await tryFindGraph(graph, folder);
    const storageRoot = root || dirname(path);
    const { text, syntaxError, positionOf } =
      error === undefined
        ? await readJsonFile(path).catch((unread: Error) => unreadable(unread.message))
        : unreadable(error);
    const document = syntaxError === undefined ? (JSON.parse(text) as unknown) : undefined;
    const problem = syntaxError ?? loreProblem(path, document);
    const skipped = whySkipped(document, problem);
    if (skipped !== '') {
      process.stderr.write(`${path}: skipped, it ${skipped}\n`);
      continue;
    }
    // The other graphs are checked nevertheless.
    if (problem !== undefined) {
      yield { storageRoot, document: undefined, ...failed(path, 'GRAPH_COMPILATION_FAILED', problem) };
      continue;
    }
    const result = await checkPortedGraph(document, { ...context, storageRoot });
    const messages = result.faults.map(({ message, pointer }) => `${positionOf(pointer)}: ${message}`);
    yield { path, storageRoot, document, ...result, messages };
  }
}

const loreMembers = ['entries', 'spec', 'character_book', 'characterBook', 'records'];

const loreProblem = (path: string, document: unknown): string | undefined =>
  isObject(document) && !('start_node' in document || 'nodes' in document) && loreMembers.some((it) => it in document)
    ? `${path} looks like a lorebook or a character card, not like a graph; name it ${path.replace(/\.json$/i, '.kb.json')}`
    : undefined;

const unreadable = (syntaxError: string) => ({ text: '', syntaxError, positionOf: String });

/** Why a file is no graph, such as the graph.schema.json next to graph files; "" = it may be one. */
function whySkipped(document: unknown, problem: string | undefined): string {
  if (isObject(document) && /json-schema\.org/.test(String(document['$schema']))) return 'is a JSON Schema';
  return problem === undefined && isTestFile(document) ? 'has test cases or a recording' : '';
}

const failed = (path: string, code: CodeName, ...messages: readonly string[]): CheckedFile => ({
  path,
  faults: messages.map((message) => ({ code, pointer: '', message })),
  messages,
  warnings: [],
});

/** The storages of a folder, without a limit of their entries. */
export const openStorages = (folder: string): SessionStorages => new SessionStorages(new StorageRoot(folder), Infinity);

/** Whether a file that a command names is a KNOWLEDGE storage, not a graph. */
export const isStorageFile = (path: string): boolean => kindOfFile(path) === 'KNOWLEDGE';

/** Checks a storage file: why it cannot be read, with line and column, or what of it is not used. */
export async function checkStorage(path: string): Promise<CheckedFile> {
  try {
    const { knowledge } = await openStorages(dirname(resolve(path))).find(basename(path));
    return { path, faults: [], messages: [], warnings: knowledge?.warnings ?? [] };
  } catch (error) {
    if (!(error instanceof Fault)) throw error;
    return failed(path, error.name, ...(error instanceof InvalidEntries ? error.problems : [error.message]));
  }
}
