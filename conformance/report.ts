import { describeError } from '../src/protocol/fault.ts';
import { ConformanceFailure, NotApplicable } from './expect.ts';
import type { ProtocolSection } from './sections.ts';

/** A codec, as the command line names it. */
export type CodecName = 'json' | 'proto';

/** One check of a server or a client. */
export interface Check<Context> {
  /** A sentence in the present tense that holds when the check passes. */
  readonly name: string;
  /** Where PROTOCOL.md says so; a failure can name another section. */
  readonly section: ProtocolSection;
  /** @throws ConformanceFailure, NotApplicable; anything else fails the check, too. */
  run(context: Context): Promise<void>;
}

/** What came of one check. */
export interface CheckResult {
  readonly name: string;
  /** The codec in which it ran; absent where a check has none, such as one of an HTTP path. */
  readonly codec?: CodecName;
  readonly outcome: 'passed' | 'failed' | 'skipped';
  /** Failed: what was expected, what came, and where PROTOCOL.md says so. Skipped: why. Passed: empty. */
  readonly reason: string;
}

/** Runs one check. */
export async function runCheck<Context>(
  { name, section, run }: Check<Context>,
  context: Context,
  codec?: CodecName,
): Promise<CheckResult> {
  const result = (outcome: CheckResult['outcome'], reason: string): CheckResult => ({
    name,
    ...(codec && { codec }),
    outcome,
    reason,
  });
  try {
    await run(context);
    return result('passed', '');
  } catch (thrown) {
    if (thrown instanceof NotApplicable) return result('skipped', thrown.message);
    if (thrown instanceof ConformanceFailure) return result('failed', thrown.describe(section));
    return result(
      'failed',
      new ConformanceFailure('no failure of the connection', describeError(thrown)).describe(section),
    );
  }
}
