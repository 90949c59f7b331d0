import { describe, expect, it } from 'vitest';
import type { CheckResult } from '../../src/conformance/report.ts';
import { useServer } from '../helpers/server.ts';
import { useCommandHost } from './command.ts';

const server = useServer();
const runCommand = useCommandHost();

const ready = 'The first frame of a connection is a SessionReady of protocol version 1';

describe('turngraph conformance --server', () => {
  it('prints a line for each check, the totals, and exits with 0 when all have passed', async () => {
    const { out, err, code } = await runCommand(['conformance', '--server', server().url, '--only', 'SessionReady']);
    const lines = out.trim().split('\n');
    expect(lines).toContain(`passed  json  ${ready}`);
    expect(lines).toContain(`passed  proto ${ready}`);
    expect(err).toBe(`${lines.length} passed, 0 failed\n`);
    expect(code).toBe(0);
  });

  it('prints a JSON list in one codec, and exits with 1 when a check has failed', async () => {
    const url = 'ws://127.0.0.1:9';
    const { out, err, code } = await runCommand(['conformance', '--server', url, '--codec', 'proto', '--json']);
    expect(JSON.parse(out) as CheckResult[]).toMatchObject([{ codec: 'proto', outcome: 'failed' }]);
    expect([err, code]).toEqual(['', 1]);
  });

  it.each([
    [['--codec', 'json'], /needs --server URL/],
    [['--server', 'http://127.0.0.1:9100'], /--server must be a WebSocket address such as ws:/],
    [['--server', 'ws://127.0.0.1:9100', '--codec', 'xml'], /json, proto/],
  ])('exits with 2 for %j', async (args, message) => {
    const { err, code } = await runCommand(['conformance', ...args]);
    expect(err).toMatch(message);
    expect(code).toBe(2);
  });
});
