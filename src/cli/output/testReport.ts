import { type Mismatch, stepName } from '../graphTests/casesFile.ts';
import type { CaseResult, CaseRun, CheckedTurn } from '../graphTests/caseSession.ts';
import type { FileResult } from '../graphTests/testFile.ts';
import type { ReplayDifference } from '../graphTests/recordFile.ts';
import { type Colors, plural, printable } from './terminalText.ts';

/** The line above the cases of a file. */
export const describeBegin = ({ path, graph, engine }: Pick<FileResult, 'path' | 'graph' | 'engine'>): string =>
  `${path}: ${graph} on ${engine}\n`;

/** A case: one line, and what went wrong. */
export function describeCase(result: CaseResult, colors: Colors): string {
  const { name, ok, runs, passed } = result;
  const label = ok ? colors.dim('ok  ') : colors.warning('FAIL');
  const rate = runs.length > 1 ? ` (${passed} of ${runs.length} runs passed, ${percent(passed / runs.length)})` : '';
  const notes = notesOf(result).map((note) => `       note: ${printable(note)}\n`);
  return [`  ${label} ${printable(name)}${rate}\n`, ...notes, ok ? '' : describeFailures(result, colors)].join('');
}

/** What went wrong in the runs of a case; equal failures once. */
export function describeFailures({ runs }: CaseResult, colors: Colors): string {
  const counts = new Map<string, number>();
  for (const text of runs.filter(({ ok }) => !ok).map((run) => describeRun(run, colors)))
    counts.set(text, (counts.get(text) ?? 0) + 1);
  return [...counts]
    .map(([text, times]) => (runs.length > 1 ? `    in ${times} of ${runs.length} runs:\n${text}` : text))
    .join('');
}

/** The last lines: how many cases passed. */
export function describeTotals(files: readonly FileResult[], ms: number): string {
  const cases = files.flatMap((file) => file.cases);
  const passed = cases.filter(({ ok }) => ok).length;
  const broken = files.filter(({ error }) => error !== undefined).length;
  const counts = [
    `${passed} passed`,
    passed < cases.length && `${cases.length - passed} failed`,
    broken > 0 && `${plural(broken, 'file')} could not run`,
  ].filter((part) => part !== false);
  return `${plural(cases.length, 'case')} in ${plural(files.length, 'file')}: ${counts.join(', ')} (${(ms / 1000).toFixed(1)} s)\n`;
}

function describeRun({ turns }: CaseRun, colors: Colors): string {
  return turns
    .map((turn, index) => (turn.mismatches.length === 0 ? '' : describeTurn(turn, index + 1, colors)))
    .join('');
}

function describeTurn({ trace, mismatches }: CheckedTurn, number: number, colors: Colors): string {
  const path = printable(trace.path.map(stepName).join(', '));
  const lines = mismatches.flatMap((mismatch) => describeMismatch(mismatch, colors));
  // The diff of the path shows it already.
  if (!mismatches.some(({ what }) => what === 'path' || what === 'error')) lines.push(colors.dim(`  path: ${path}`));
  const title = `    turn ${number}, ${printable(JSON.stringify(trace.user))}:`;
  return [title, ...lines.map((line) => `    ${line}`)].map((line) => `${line}\n`).join('');
}

function describeMismatch({ what, message, diff }: Mismatch, colors: Colors): readonly string[] {
  const isDiff = what !== 'text' || diff.some(({ mark }) => mark === '-');
  const title = what === 'error' ? message : `${what}: ${message}${isDiff ? ' (- expected, + got)' : ''}`;
  const lines = diff.map(({ mark, line }) => {
    const shown = printable(line);
    return mark === ' ' ? `    ${shown}` : colors.bold(`  ${mark} ${shown}`);
  });
  return [`  ${printable(title)}`, ...lines];
}

/** The notes and warnings of all runs, each once. */
function notesOf({ runs }: CaseResult): readonly string[] {
  const turns = runs.flatMap((run) => run.turns);
  return [...new Set(turns.flatMap(({ notes, warnings }) => [...notes, ...warnings]))];
}

const percent = (share: number): string => `${Math.round(share * 100)} %`;

/** A turn whose replay differs from what was recorded. */
export const describeDifference = (difference: ReplayDifference, colors: Colors): string =>
  [
    `  ${colors.warning('the replay differs')}: ${printable(JSON.stringify(difference.case))}, turn ${difference.turn} (- recorded, + replayed)`,
    ...difference.diff.map(({ mark, line }) => `      ${mark} ${printable(line)}`),
    '',
  ].join('\n');

/** The result of a cases file as one line of JSON. The same recording gives the same one again, but for its times. */
export function testJson({ path, graph, engine, cases, warnings, error }: FileResult): string {
  const ok = error === undefined && cases.every((one) => one.ok);
  const fields = error === undefined ? { graph, engine, cases: cases.map(caseJson), warnings } : { error };
  return JSON.stringify({ file: path, ok, ...fields });
}

const caseJson = ({ name, ok, passed, runs, durationMs }: CaseResult): object => ({
  name,
  ok,
  passed,
  durationMs: Math.round(durationMs),
  runs: runs.map((run) => ({ ok: run.ok, turns: run.turns.map(turnJson) })),
});

const turnJson = ({ trace, mismatches, warnings, notes }: CheckedTurn): object => ({
  ...trace,
  path: trace.path.map(stepName),
  warnings,
  notes,
  failures: mismatches.map(({ what, message, diff }) => ({
    what,
    message,
    diff: diff.map(({ mark, line }) => `${mark} ${line}`),
  })),
});
