import { printable } from './printable.ts';

/** What came of one check, as the conformance kit reports it. */
export interface CheckResult {
  readonly name: string;
  /** Absent where a check has no codec, such as one of an HTTP path. */
  readonly codec?: 'json' | 'proto';
  readonly outcome: 'passed' | 'failed' | 'skipped';
  /** Why the check did not pass. */
  readonly reason: string;
}

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
