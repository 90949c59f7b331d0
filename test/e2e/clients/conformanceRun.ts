import { expect } from 'vitest';
import { checkClient } from '../../../conformance/client/checkClient.ts';
import type { CheckResult, CodecName } from '../../../conformance/report.ts';

/** Checks a client program of examples/ with the conformance kit. */
export async function expectConformance(command: string, codecs: readonly CodecName[]): Promise<void> {
  const results: CheckResult[] = [];
  for await (const result of checkClient({ command, codecs, timeoutMs: 60_000 })) results.push(result);
  expect(results.filter(({ outcome }) => outcome !== 'passed')).toEqual([]);
  expect(results.length).toBeGreaterThan(35 * codecs.length);
}
