import type { CheckResult } from '../../conformance/report.ts';
import { printable } from './printable.ts';

/** One line of a check: the outcome, the codec, the sentence, and after a colon why it did not pass. */
export const describeCheck = ({ name, codec, outcome, reason }: CheckResult): string =>
  printable(`${outcome.padEnd(7)} ${(codec ?? '').padEnd(5)} ${name}${reason && `: ${reason}`}`);

/** The last line: how many checks had which outcome. */
export function describeCheckTotals(results: readonly CheckResult[]): string {
  const count = (outcome: CheckResult['outcome']): number =>
    results.filter((result) => result.outcome === outcome).length;
  const skipped = count('skipped');
  return `${count('passed')} passed, ${count('failed')} failed${skipped > 0 ? `, ${skipped} skipped` : ''}`;
}
