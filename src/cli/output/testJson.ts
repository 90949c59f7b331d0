import { stepName } from '../graphTests/expectation.ts';
import type { CaseResult, CheckedTurn } from '../graphTests/runCase.ts';
import type { FileResult } from '../graphTests/testFile.ts';

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
