import { readMockScript, type MockScript } from '../../inference/mock/script.ts';
import { describeError } from '../../protocol/fault.ts';
import { readRegularFile, readTextFile } from '../../base/filesystem.ts';
import { isFile } from '../findGraph.ts';
import type { UnansweredInference, CaseSession, CaseResult, CaseRunOptions } from './caseSession.ts';
import { locatingFaults, runCases } from './caseSession.ts';
import { CasesFileError, readCasesFile, type CasesFile } from './casesFile.ts';

export interface TestOptions extends Pick<CaseRunOptions, 'runs' | 'minPass' | 'signal' | 'onCase'> {
  readonly usesModels: boolean;
  /** `--mock-script`: instead of the recording of each file; "" = none. */
  readonly mockScript: string;
  readonly onBegin?: (begun: Pick<FileResult, 'path' | 'graph' | 'engine'>) => void;
}

export interface FileResult {
  readonly path: string;
  /** The path of the graph. */
  readonly graph: string;
  /** The model, or what the mock engine answers by. */
  readonly engine: string;
  readonly cases: readonly CaseResult[];
  readonly warnings: readonly string[];
  /** Why the file could not run; absent: it ran. */
  readonly error?: string;
}

/** Runs the cases of a file. What is wrong with the file, its graph or a model is in the result. */
export async function testFile(path: string, session: CaseSession, options: TestOptions): Promise<FileResult> {
  try {
    const file = await readCasesFile(path, session.settings.graphs);
    return await locatingFaults(file.graph, () => testCases(file, session, options));
  } catch (error) {
    if (!(error instanceof CasesFileError)) throw error;
    return { path, graph: '', engine: '', cases: [], warnings: [], error: error.message };
  }
}

async function testCases(file: CasesFile, session: CaseSession, options: TestOptions): Promise<FileResult> {
  const { usesModels, runs, minPass, signal, onCase } = options;
  const scriptFile = usesModels ? '' : findScript(file, options.mockScript);
  const script = await readScript(scriptFile);
  const server = await session.serverFor(file.graph);
  await using client = await server.connect(usesModels ? 'llama-cpp' : 'mock');
  server.script.use(script);
  const place = { path: file.path, graph: file.graph.path, engine: engineName(file, scriptFile, session, usesModels) };
  options.onBegin?.(place);
  const warnings = new Set<string>();
  const madeUp: UnansweredInference[] = [];
  const cases = await runCases(file, session, {
    client,
    runs,
    minPass,
    isSeeded: usesModels,
    signal,
    onTurn: (name, turn) => server.script.enter(name, turn),
    notesOfTurn() {
      madeUp.push(...server.script.unanswered);
      return scriptFile === '' ? [] : server.script.unanswered.map((one) => describeUnanswered(one, scriptFile));
    },
    onWarnings: (more) => more.forEach((warning) => warnings.add(warning)),
    onCase,
  });
  // Graphs of guards and canned lines need no recording.
  if (madeUp.length > 0 && scriptFile === '' && cases.some(({ ok }) => !ok)) warnings.add(describeMissing(file));
  return { ...place, cases, warnings: [...warnings] };
}

/** The mock script of a file; "" = none. @throws CasesFileError when the file names a recording that is not there. */
function findScript({ recording, recordingPlace, path }: CasesFile, mockScript: string): string {
  if (mockScript !== '') return mockScript;
  if (isFile(recording)) return recording;
  if (recordingPlace === undefined) return '';
  throw new CasesFileError(
    `${recordingPlace}: recording: there is no file ${recording}; record it with turngraph record ${path}`,
  );
}

async function readScript(path: string): Promise<MockScript> {
  if (path === '') return [];
  try {
    return readMockScript(await readTextFile(path, readRegularFile), path);
  } catch (error) {
    throw new CasesFileError(describeError(error), { cause: error });
  }
}

function engineName({ graph }: CasesFile, scriptFile: string, session: CaseSession, usesModels: boolean): string {
  if (!usesModels) return scriptFile === '' ? 'the mock engine' : `the mock engine with ${scriptFile}`;
  const { default_model_name: own } = JSON.parse(graph.text) as { readonly default_model_name?: unknown };
  return session.defaultModelName || String(own ?? 'its models');
}

function describeUnanswered({ node, inference, message }: UnansweredInference, scriptFile: string): string {
  const what = `${node}, inference ${inference} of the turn, for ${JSON.stringify(message)}`;
  return `${scriptFile} has no entry for ${what}: the mock engine made up an answer; record again, or add an entry`;
}

const describeMissing = ({ recording, path }: CasesFile): string =>
  `there is no ${recording}: the mock engine made up the answers of models; record them with turngraph record ${path}`;
