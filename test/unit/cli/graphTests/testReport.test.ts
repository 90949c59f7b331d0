import { expect, it } from 'vitest';
import { colorsFor } from '../../../../src/cli/output/terminalText.ts';
import { describeCase, describeDifference } from '../../../../src/cli/output/testReport.ts';

/** Moves the cursor, sets the title of the window, begins a control sequence in one character, and ends the line. */
const hostile = 'a\u001b[2J\u001b]0;title\u0007\u009b1m\nok';

it('the report of a case writes nothing into the terminal but its lines', () => {
  const trace = { user: hostile, path: [{ node: hostile, exit: hostile }], calls: [], text: hostile };
  const diff = [{ mark: '+', line: hostile }] as const;
  const turn = {
    trace,
    warnings: [hostile],
    notes: [hostile],
    inferenceOfCalls: [],
    mismatches: [{ what: 'text', message: hostile, diff }] as const,
  };
  const run = { turns: [turn], ok: false };
  const colors = colorsFor({});
  const result = { name: hostile, runs: [run], passed: 0, ok: false, durationMs: 1 };
  for (const text of [describeCase(result, colors), describeDifference({ case: hostile, turn: 1, diff }, colors)]) {
    expect(text).not.toMatch(/[^\n\P{Cc}]/u);
    expect(text).toContain('a [2J ]0;title 1m ok');
    expect(text.split('\n')).not.toContain('ok');
  }
});
