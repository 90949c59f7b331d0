import { describe, expect, it } from 'vitest';
import { checkServer } from '../../../src/conformance/server/checkServer.ts';
import type { CheckResult } from '../../../src/conformance/report.ts';
import { useServer } from '../../helpers/server.ts';

describe('a server', () => {
  const server = useServer();

  it.each(['json', 'proto'] as const)('passes each check in %s', async (codec) => {
    const results: CheckResult[] = [];
    for await (const result of checkServer({ url: server().url, codecs: [codec] })) results.push(result);
    expect(results.filter(({ outcome }) => outcome !== 'passed')).toEqual([]);
  });
});
