import { existsSync } from 'node:fs';
import { dirname } from 'node:path';
import { isRecording, type PlacedInference, recordingEntries, type Recorder } from './recordInferences.ts';
import { type CaseResult, runCases } from './runCase.ts';
import type { TracedCall, TurnTrace } from './turnTrace.ts';
import { readMockScript } from '../../inference/mock/script.ts';
import { describeFsError, readRegularFile, writeAtomic } from '../../base/filesystem.ts';
import { type CasesFile, CasesFileError, readCasesFile } from './casesFile.ts';
import { type CaseServer, type CaseSession, locatingFaults } from './caseSession.ts';
import { tryParseJson } from '../../base/jsonTypes.ts';
import { type DiffLine, diffLines, stepName } from './expectation.ts';

export interface RecordOptions {
  readonly recorder: Recorder;
  /** The file to write; default: that of the cases file. */
  readonly out: string | undefined;
  /** Whether a mock script may be replaced that was not recorded. */
  readonly force: boolean;
  readonly signal: AbortSignal;
  readonly onCase: (result: CaseResult) => void;
}

/** A turn whose replay is another one than the turn that was recorded. */
export interface ReplayDifference {
  readonly case: string;
  /** From 1. */
  readonly turn: number;
  readonly diff: readonly DiffLine[];
}

export interface SavedRecording {
  readonly path: string;
  readonly entries: number;
  readonly cases: readonly CaseResult[];
  readonly differences: readonly ReplayDifference[];
}

/** Records a model's answers as a mock script, then runs it. @throws CasesFileError, and writes nothing then. */
export async function recordFile(path: string, session: CaseSession, options: RecordOptions): Promise<SavedRecording> {
  const file = await readCasesFile(path, session.settings.graphs);
  const out = options.out ?? file.recording;
  if (!existsSync(dirname(out)))
    throw new CasesFileError(`${out} cannot be written: there is no folder ${dirname(out)}`);
  if (!options.force) await assertReplaceable(out);
  return locatingFaults(file.graph, async () => {
    const server = await session.serverFor(file.graph);
    const { cases, inferences } = await recordCases(file, server, session, options);
    const tryReplay = async (recorded: readonly PlacedInference[]): Promise<Replay> => {
      const entries = recordingEntries(recorded);
      const text = `${JSON.stringify(entries, null, 2)}\n`;
      server.script.use(readMockScript(text, out));
      return { text, entries: entries.length, differences: await replay(file, server, session, options, cases) };
    };
    const asWritten = await tryReplay(inferences);
    const { differences } = asWritten;
    const differs = (name: string, turn: number): boolean =>
      differences.some((one) => one.case === name && one.turn === turn);
    const again = differences.length === 0 ? asWritten : await tryReplay(withPlainCalls(inferences, cases, differs));
    const { text, ...replayed } = again.differences.length < differences.length ? again : asWritten;
    await writeAtomic(out, text).catch((error: Error) => {
      throw new CasesFileError(`${out} cannot be written: ${describeFsError(error)}`, { cause: error });
    });
    return { path: out, cases, ...replayed };
  });
}

interface Replay extends Pick<SavedRecording, 'entries' | 'differences'> {
  readonly text: string;
}

/** @throws CasesFileError when a file has entries that a person has written, or cannot be read. */
async function assertReplaceable(path: string): Promise<void> {
  const bytes = await readRegularFile(path).catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return undefined;
    throw new CasesFileError(`${path} cannot be read, and is not replaced: ${describeFsError(error)}`);
  });
  if (!bytes || isRecording(tryParseJson(bytes.toString()))) return;
  throw new CasesFileError(
    `${path} was not recorded: an entry has no match with ^, no node or no nth; give --out another file, or --force to replace it`,
  );
}

async function recordCases(
  file: CasesFile,
  server: CaseServer,
  session: CaseSession,
  { recorder, signal, onCase }: RecordOptions,
): Promise<{ readonly cases: readonly CaseResult[]; readonly inferences: readonly PlacedInference[] }> {
  await using client = await server.connect('llama-cpp');
  recorder.take();
  const onTurn = (name: string, turn: number): void => recorder.enter(name, turn);
  const cases = await runCases(file, session, { ...once, client, signal, onTurn, onCase, enableDiagnostics: true });
  for (const { name, runs } of cases) {
    const turns = runs.flatMap((run) => run.turns);
    const { error } = turns.at(-1)?.trace ?? {};
    if (error !== undefined)
      throw new CasesFileError(`${file.path}: "${name}", turn ${turns.length}: ${error}; nothing was recorded`);
  }
  return { cases, inferences: recorder.take() };
}

async function replay(
  file: CasesFile,
  server: CaseServer,
  session: CaseSession,
  { signal }: RecordOptions,
  recorded: readonly CaseResult[],
): Promise<readonly ReplayDifference[]> {
  await using client = await server.connect('mock');
  const onTurn = (name: string, turn: number): void => server.script.enter(name, turn);
  const replayed = await runCases(file, session, { ...once, client, signal, onTurn });
  return recorded.flatMap(({ name, runs }, index) => {
    const turns = replayed[index]?.runs[0]?.turns ?? [];
    return (runs[0]?.turns ?? []).flatMap(({ trace }, position) => {
      const again = turns[position]?.trace;
      const diff = diffLines(linesOf(trace), again ? linesOf(again) : [], (a, b) => a === b);
      return diff.every(({ mark }) => mark === ' ') ? [] : [{ case: name, turn: position + 1, diff }];
    });
  });
}

const once = { runs: 1, minPass: 1, isSeeded: true } as const;

const linesOf = ({ path, calls, text, fields, error }: TurnTrace): readonly string[] => [
  ...path.map(stepName),
  ...calls.map((call) => JSON.stringify(call)),
  JSON.stringify(text),
  ...(fields ? [JSON.stringify(fields)] : []),
  ...(error === undefined ? [] : [error]),
];

/** Writes recorded calls in `<tool_call>` tags: the mock engine does not read a model's own layout. */
function withPlainCalls(
  inferences: readonly PlacedInference[],
  cases: readonly CaseResult[],
  isRewritten: (name: string, turn: number) => boolean,
): readonly PlacedInference[] {
  return inferences.map((one) => {
    if (one.answer.answer === undefined || !isRewritten(one.case, one.turn)) return one;
    const turn = cases.find(({ name }) => name === one.case)?.runs[0]?.turns[one.turn - 1];
    const calls = turn?.trace.calls.filter((_, index) => turn.inferenceOfCalls[index] === one.inference) ?? [];
    return calls.length === 0 ? one : { ...one, answer: { answer: calls.map(inTags).join('\n') } };
  });
}

const inTags = ({ tool: name, arguments: args }: TracedCall): string =>
  `<tool_call>\n${JSON.stringify({ name, arguments: args })}\n</tool_call>`;
