import { describe, expect, it } from 'vitest';
import type { CheckResult } from '../../../conformance/report.ts';
import { checkServer, type ServerCheckOptions } from '../../../conformance/server/checkServer.ts';
import { useServer } from '../../helpers/server.ts';

/** The results of all checks; `unpassed` has a line for each that has not passed. */
async function checkAll(
  options: ServerCheckOptions,
): Promise<{ readonly results: readonly CheckResult[]; readonly unpassed: readonly string[] }> {
  const results: CheckResult[] = [];
  for await (const result of checkServer(options)) results.push(result);
  const lines = results.map(({ outcome, codec, name, reason }) => `${outcome} ${codec}: ${name}: ${reason}`);
  return { results, unpassed: lines.filter((line) => !line.startsWith('passed')) };
}

describe('a server with the mock engine', () => {
  const server = useServer({ token: 'open sesame' });

  it('passes all checks in both codecs', async () => {
    const { results, unpassed } = await checkAll({ url: server().url, token: 'open sesame' });
    // Only those of a model are skipped.
    expect(unpassed).toEqual(
      ['json', 'proto'].flatMap((codec) => [
        expect.stringMatching(`skipped ${codec}: A model of the server streams an answer.*: no --model was given`),
        expect.stringMatching(`skipped ${codec}: The fields of an answer come in their order.*: no --model was given`),
        expect.stringMatching(`skipped ${codec}: A call that a model has to make .*: no --model was given`),
        expect.stringMatching(`skipped ${codec}: A loaded model is pinned .*: no --model was given`),
      ]),
    );
    expect(results.length).toBeGreaterThan(300);
  });
});

describe('a server whose mock engine has a script, with the demo model', () => {
  const server = useServer({ script: [{ match: '', answer: 'Scripted.' }] });

  it(
    'passes the checks of turns, models and resumed sessions that do not need the echo',
    { timeout: 120_000 },
    async () => {
      const only = ['turn', 'model', 'pause', 'resume'];
      const { results, unpassed } = await checkAll({ url: server().url, model: 'turngraph-demo', only });
      const hasNoReason = unpassed.filter((line) => !/^skipped \w+: .*: the mock engine of this server/.test(line));
      expect(hasNoReason).toEqual([]);
      expect(results.filter(({ outcome }) => outcome === 'passed').map(({ name }) => name)).toEqual(
        expect.arrayContaining([
          'A model of the server streams an answer, which is the text of its dialog',
          'A call that a model has to make is notified with arguments of the declared types',
          'A loaded model is pinned until it is unloaded',
          'A cancelled turn is acknowledged, and ends with its own TurnComplete of status CANCELLED',
          'A turn goes on while its session has no connection',
        ]),
      );
    },
  );
});

describe('a server that takes two new connections in a second', () => {
  const server = useServer({ maxConnectionRate: 2 });

  it('is checked more slowly', async () => {
    const { results, unpassed } = await checkAll({ url: server().url, only: ['SessionReady'], codecs: ['json'] });
    expect(unpassed).toEqual([]);
    expect(results.map(({ name }) => name)).toContain(
      'The first frame of a connection is a SessionReady of protocol version 1',
    );
  });
});

describe('an address without a server', () => {
  it('fails the first check, and no other one is made', async () => {
    const { results } = await checkAll({ url: 'ws://127.0.0.1:9' });
    expect(results).toEqual([
      {
        name: 'The server can be reached, and accepts a WebSocket',
        codec: 'json',
        outcome: 'failed',
        reason:
          'expected a WebSocket at ws://127.0.0.1:9, came connect ECONNREFUSED 127.0.0.1:9 (PROTOCOL.md, "Connecting")',
      },
    ]);
  });
});
