import { existsSync } from 'node:fs';
import { dirname } from 'node:path';
import { runCases, locatingFaults, type CaseResult, type CaseServer, type CaseSession } from './caseSession.ts';
import type { TracedCall, TurnTrace } from './turnTrace.ts';
import {
  readMockScript,
  scriptedRequest,
  type MockScriptEntry,
  type ScriptedRequest,
} from '../../inference/mock/script.ts';
import { describeFsError, readRegularFile, writeAtomic } from '../../base/filesystem.ts';
import { CasesFileError, readCasesFile, diffLines, stepName, type CasesFile, type DiffLine } from './casesFile.ts';
import { tryParseJson } from '../../base/jsonTypes.ts';
import { RE2JS } from 're2js';
import { withMembers } from '../../base/withMembers.ts';
import type { Engine, Sequence } from '../../inference/contract/engine.ts';
import { watchSequences } from '../ownServer.ts';

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

export type SavedRecording = Awaited<ReturnType<typeof recordFile>>;

/** Records a model's answers as a mock script, then runs it. @throws CasesFileError, and writes nothing then. */
export async function recordFile(path: string, session: CaseSession, options: RecordOptions) {
  const file = await readCasesFile(path, session.settings.graphs);
  const out = options.out ?? file.recording;
  if (!existsSync(dirname(out)))
    throw new CasesFileError(`${out} cannot be written: there is no folder ${dirname(out)}`);
  if (!options.force) await assertReplaceable(out);
  return locatingFaults(file.graph, async () => {
    const server = await session.serverFor(file.graph);
    const { cases, inferences } = await recordCases(file, server, session, options);
    const tryReplay = async (recorded: readonly PlacedInference[]) => {
      const entries = recordingEntries(recorded);
      const text = `${JSON.stringify(entries, null, 2)}\n`;
      server.script.use(readMockScript(text, out));
      return { text, entries: entries.length, differences: await replay(file, server, session, options, cases) };
    };
    const asWritten = await tryReplay(inferences);
    const { differences } = asWritten;
    const again =
      differences.length === 0 ? asWritten : await tryReplay(withPlainCalls(inferences, cases, differences));
    const { text, ...replayed } = again.differences.length < differences.length ? again : asWritten;
    await writeAtomic(out, text).catch((error: Error) => {
      throw new CasesFileError(`${out} cannot be written: ${describeFsError(error)}`, { cause: error });
    });
    return { path: out, cases, ...replayed };
  });
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

/** Writes recorded calls of turns that differ in `<tool_call>` tags: the mock engine does not read a model's own layout. */
function withPlainCalls(
  inferences: readonly PlacedInference[],
  cases: readonly CaseResult[],
  differences: readonly ReplayDifference[],
): readonly PlacedInference[] {
  return inferences.map((one) => {
    const differs = differences.some((other) => other.case === one.case && other.turn === one.turn);
    if (one.answer.answer === undefined || !differs) return one;
    const turn = cases.find(({ name }) => name === one.case)?.runs[0]?.turns[one.turn - 1];
    const calls = turn?.trace.calls.filter((_, index) => turn.inferenceOfCalls[index] === one.inference) ?? [];
    return calls.length === 0 ? one : { ...one, answer: { answer: calls.map(inTags).join('\n') } };
  });
}

const inTags = ({ tool: name, arguments: args }: TracedCall): string =>
  `<tool_call>\n${JSON.stringify({ name, arguments: args })}\n</tool_call>`;

/** What a model was asked in a turn of a case, and what it answered, as a mock script has it. */
export interface PlacedInference extends Required<ScriptedRequest> {
  readonly answer: Pick<MockScriptEntry, 'answer' | 'finish' | 'choices' | 'scores'>;
}

type RecordedInference = Omit<PlacedInference, 'case' | 'turn'>;

function recordSequence(sequence: Sequence, onInference: (recorded: RecordedInference) => void): Sequence {
  return withMembers(sequence, {
    async generate(prompt, options) {
      const completion = await sequence.generate(prompt, { ...options, transcript: true });
      const { finishReason: finish, transcript, choices = [] } = completion;
      if (finish === 'aborted' || !transcript) return completion;
      const { text } = transcript;
      // The tokens of the mock engine are fewer or more: it would cut the answer elsewhere.
      const isNearLimit = text.length > options.sampling.max_tokens;
      // In full: a rounded one could be above or below a limit.
      const unsure = choices
        .filter(({ probability }) => probability < 1)
        .map(({ start, end, probability }) => `${start}-${end}:${probability}`);
      const answer = {
        answer: text,
        ...((finish !== 'end' || isNearLimit) && { finish }),
        ...(unsure.length > 0 && { choices: unsure.join(' ') }),
      };
      onInference({ ...scriptedRequest(prompt, options, sequence.label), answer });
      return completion;
    },
    async score(prompt, answers, options) {
      const result = await sequence.score(prompt, answers, options);
      if (result.finishReason === 'aborted') return result;
      const scores = toShares(answers, result.scores);
      onInference({ ...scriptedRequest(prompt, options, sequence.label), answer: { scores } });
      return result;
    },
  });
}

const digits = 6;

/** Answers as shares, 1 in all, for a script: only compared with each other. Rounded down, not to exceed 1. */
function toShares(answers: readonly string[], scores: readonly number[]): Record<string, number> {
  const highest = Math.max(...scores);
  const weights = scores.map((score) => Math.exp(score - highest));
  const total = weights.reduce((sum, weight) => sum + weight, 0);
  const share = (index: number): number => Math.floor(((weights[index] ?? 0) / total) * 10 ** digits) / 10 ** digits;
  return Object.fromEntries(answers.map((answer, index) => [answer, share(index)]));
}

/** Collects what models answer, with the case and turn that runs. */
export class Recorder {
  readonly #inferences: PlacedInference[] = [];
  #place: Pick<PlacedInference, 'case' | 'turn'> = { case: '', turn: 0 };

  /** Tells which turn of which case runs. */
  enter(name: string, turn: number): void {
    this.#place = { case: name, turn };
  }

  /** Collects each finished inference of the models that an engine loads from now on. */
  watch(engine: Engine): Engine {
    const add = (recorded: RecordedInference): void => void this.#inferences.push({ ...recorded, ...this.#place });
    return watchSequences(engine, (sequence) => recordSequence(sequence, add));
  }

  /** Returns what was collected, and forgets it. */
  take(): readonly PlacedInference[] {
    return this.#inferences.splice(0);
  }
}

/** A script that answers inferences again. Equal ones share an entry; unequal answers name case and turn. */
export function recordingEntries(inferences: readonly PlacedInference[]): readonly MockScriptEntry[] {
  const groups = new Map<string, PlacedInference[]>();
  for (const one of inferences) {
    const key = JSON.stringify([one.message, one.node, one.inference]);
    groups.set(key, [...(groups.get(key) ?? []), one]);
  }
  return [...groups.values()].flatMap((group) => {
    const [first, ...others] = group;
    if (!first) return [];
    const isSame = others.every(({ answer }) => JSON.stringify(answer) === JSON.stringify(first.answer));
    if (isSame) return [toEntry(first)];
    return group.map((one) => ({ ...toEntry(one), case: one.case, turn: one.turn }));
  });
}

const toEntry = ({ message, node, inference, answer }: RecordedInference): MockScriptEntry => ({
  match: `^${RE2JS.quote(message)}$`,
  node,
  nth: inference,
  ...answer,
});

/** Whether all entries of a mock script were recorded: those that a person writes seldom name node and number. */
export const isRecording = (entries: unknown): boolean =>
  Array.isArray(entries) &&
  entries.every((entry: unknown) => {
    const { match, node, nth } = Object(entry) as Readonly<Record<string, unknown>>;
    return typeof match === 'string' && match.startsWith('^') && node !== undefined && nth !== undefined;
  });
