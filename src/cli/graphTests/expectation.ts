import { RE2JS, RE2JSSyntaxException } from 're2js';
import { didYouMean } from '../../base/didYouMean.ts';
import type { SchemaError } from '../../protocol/schema.ts';
import { isPartOf } from '../callAnswers.ts';
import type { CaseTurn } from './casesSchema.ts';
import type { TracedCall, TracedStep, TurnTrace } from './turnTrace.ts';

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
export function* expectationErrors({ path = [], text }: Expectation, nodes: readonly string[]): Generator<SchemaError> {
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
  return isEqual(diff) ? [] : [{ what: 'path', message: 'another path', diff }];
}

/** A step of a path as it is written in expectations: `guard.triggered`. */
export const stepName = ({ node, exit }: TracedStep): string => `${node}.${exit}`;

function compareCalls(expected: NonNullable<Expectation['calls']>, actual: readonly TracedCall[]): readonly Mismatch[] {
  const fits = (one: (typeof expected)[number], call: TracedCall): boolean =>
    one.tool === call.tool && isPartOf(one.arguments, call.arguments);
  const diff = diffLines(expected, actual, fits, ({ tool, arguments: args }) => `${tool} ${JSON.stringify(args)}`);
  if (isEqual(diff)) return [];
  const message = expected.length === 0 ? 'a call where none is expected' : 'other calls';
  return [{ what: 'calls', message: actual.length === 0 ? 'no call' : message, diff }];
}

function compareFields(
  expected: NonNullable<Expectation['fields']>,
  actual: NonNullable<TurnTrace['fields']>,
): readonly Mismatch[] {
  const linesOf = (values: NonNullable<TurnTrace['fields']>) =>
    Object.keys(expected).map((name) => `${name}: ${JSON.stringify(values[name])}`);
  const diff = diffLines(linesOf(expected), linesOf(actual), (a, b) => a === b);
  return isEqual(diff) ? [] : [{ what: 'fields', message: 'other fields', diff }];
}

function compareText(expected: string | TextPatterns, actual: string): readonly Mismatch[] {
  const quoted = JSON.stringify(actual);
  if (typeof expected === 'string') {
    if (expected === actual) return [];
    const diff = diffLines([JSON.stringify(expected)], [quoted], (a, b) => a === b);
    return [{ what: 'text', message: 'another text', diff }];
  }
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

const isEqual = (diff: readonly DiffLine[]): boolean => diff.every(({ mark }) => mark === ' ');

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
  // Of each row the diffs of the rests that begin at an expected and an actual item; the last row first.
  let below: RestDiff<Expected | Actual>[] = [];
  for (let i = expected.length; i >= 0; i--) {
    const row: typeof below = [];
    for (let j = actual.length; j >= 0; j--) {
      const [wanted, got] = [expected[i] as Expected, actual[j] as Actual];
      const [withoutWanted, withoutGot, withoutBoth] = [below[j], row[j + 1], below[j + 1]];
      if (withoutBoth && fits(wanted, got))
        row[j] = { mark: ' ', item: got, next: withoutBoth, common: withoutBoth.common + 1 };
      else if (withoutWanted && withoutWanted.common >= (withoutGot?.common ?? 0))
        row[j] = { mark: '-', item: wanted, next: withoutWanted, common: withoutWanted.common };
      else row[j] = { mark: '+', item: got, next: withoutGot, common: withoutGot?.common ?? 0 };
    }
    below = row;
  }
  const lines: DiffLine[] = [];
  // The last one is that of two empty rests.
  for (let rest = below[0]; rest?.next; rest = rest.next) lines.push({ mark: rest.mark, line: lineOf(rest.item) });
  return lines;
}

/** The smallest diff of the rests of two lists: its first line, and its other lines. */
interface RestDiff<Item> {
  readonly mark: DiffLine['mark'];
  readonly item: Item;
  readonly next: RestDiff<Item> | undefined;
  /** How many lines are as expected. */
  readonly common: number;
}
