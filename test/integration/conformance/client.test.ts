import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { checkClient, type ClientCheckOptions } from '../../../src/conformance/client/checkClient.ts';
import type { CheckResult } from '../../../src/conformance/report.ts';
import { whenEnded } from '../../helpers/runningProcesses.ts';
import { repositoryPath } from '../../helpers/server.ts';

const node = JSON.stringify(process.execPath);
const commandOf = (program: string, ...flags: readonly string[]): string =>
  [node, JSON.stringify(repositoryPath(program)), ...flags].join(' ');
const nodeClient = commandOf('examples/node/conform.mjs');
const brokenClient = (...faults: readonly string[]): string =>
  commandOf('test/helpers/conformance/brokenClient.mjs', ...faults);

async function resultsOf(options: ClientCheckOptions): Promise<readonly CheckResult[]> {
  const results: CheckResult[] = [];
  for await (const result of checkClient(options)) results.push(result);
  return results;
}

const notPassed = (results: readonly CheckResult[]) => results.filter(({ outcome }) => outcome !== 'passed');

// Concurrently: the kit waits most of the time.
describe.concurrent('a client program', () => {
  it.each(['json', 'proto'] as const)('over turngraph/client passes all checks in %s', async (codec) => {
    const results = await resultsOf({ command: nodeClient, codecs: [codec] });
    expect(notPassed(results)).toEqual([]);
    expect(results.length).toBeGreaterThan(35);
  });

  it('passes all checks when it resumes, and the codec that it does not support is skipped', async () => {
    expect(notPassed(await resultsOf({ command: brokenClient() }))).toEqual([
      {
        name: 'the program runs with turngraph.v1.proto',
        codec: 'proto',
        outcome: 'skipped',
        reason: expect.any(String),
      },
    ]);
  });

  it('passes all checks when it creates its agents again instead of resuming', async () => {
    expect(notPassed(await resultsOf({ command: brokenClient('--restarts'), codecs: ['json'] }))).toEqual([]);
  });

  it('fails when it supports no codec that is asked for', async () => {
    const results = await resultsOf({ command: brokenClient(), codecs: ['proto'] });
    expect(results).toMatchObject([{ name: 'the program runs with turngraph.v1.proto', outcome: 'failed' }]);
  });
});

const messages = {
  refused: 'a handshake that is refused with 401, 403, 404 or 503 is an error of connect',
  slow: 'a slow handshake is waited for, and the token is sent with it',
  streamed: 'a streamed answer is reported piece by piece',
  characters: 'characters of every length arrive as they are',
  fragments: 'messages in WebSocket fragments are joined, also where a character is cut',
  tcp: 'frames that TCP cuts or joins are read',
  fields: 'unknown fields are ignored',
  bodies: 'unknown messages are ignored',
  enums: 'unknown enum values and unknown events of nodes are ignored',
  absent: 'absent fields and null are read as defaults',
  ping: 'a ping is answered with its payload',
  calls: 'the calls of a turn are reported in order, with arguments of every type',
  results: 'results are sent once, and the turn goes on with them',
  apart: 'the turns of two agents are kept apart',
  errors: 'the error of one agent does not end the turn of another',
  busy: 'a message to a busy agent is an error, and its turn goes on',
  cancel: 'a cancelled turn ends with the text so far',
  lateCancel: 'a cancel that comes too late cancels no other turn',
  final: 'close 4409 ends the connection for good',
  drop: 'after a drop in the middle of a turn no text is lost and none is doubled',
  again: 'a request that the server has not received takes effect once',
  whileDown: 'a message that is sent without a connection is delivered once, or is an error',
  recreated: 'agents are created again when a resume is refused',
  attempts: 'an attempt to connect again that fails is followed by another one',
  close: 'close sends a close frame, and the program exits',
  stdin: 'the end of the standard input closes the connection and ends the program',
} as const;

const rules = {
  frames: 'all frames of the client are valid',
  ids: 'no request has the id of another one that waits',
  events: 'the program writes one JSON event a line',
  subprotocol: 'the client offers the subprotocol that it was told to',
} as const;

// A client that does nothing has failed after this time; for other faults the time is that of the command line.
const short = 1500;

describe('a client program that hangs', () => {
  it('is killed after the time limit, with what it has started', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'turngraph-'));
    const program = join(folder, 'hangs.mjs');
    await writeFile(
      program,
      `import { spawn } from 'node:child_process';
       import { writeFileSync } from 'node:fs';
       const child = spawn(process.execPath, ['-e', 'setInterval(() => {}, 1000)']);
       writeFileSync('${join(folder, 'pid').replaceAll('\\', '/')}', String(child.pid));`,
    );
    const results = await resultsOf({
      command: `${node} ${JSON.stringify(program)}`,
      codecs: ['json'],
      timeoutMs: 3000,
    });
    expect(results).toMatchObject([
      { outcome: 'failed', reason: expect.stringContaining('came within 3000 ms nothing') },
    ]);
    await whenEnded(Number(await readFile(join(folder, 'pid'), 'utf8')));
    await rm(folder, { recursive: true });
  });
});

describe.concurrent('a client program with a fault', () => {
  it.each([
    ['hangs-when-refused', messages.refused, messages.refused, 'an error with code 1001', short],
    ['no-token', messages.slow, messages.slow, 'expected the token'],
    ['text-at-the-end', messages.streamed, messages.streamed, 'the events of the turn', short],
    ['loses-surrogates', messages.characters, messages.characters, 'came "'],
    ['fragment-is-message', messages.fragments, messages.fragments, 'the events of the turn', short],
    ['decodes-fragments-apart', messages.fragments, messages.fragments, 'the pieces of the answer'],
    ['read-is-frame', messages.tcp, messages.tcp, 'the events of the turn', short],
    ['refuses-unknown-fields', messages.fields, messages.fields, 'unknown field in'],
    ['refuses-unknown-messages', messages.bodies, messages.bodies, 'unknown message futureMessage'],
    ['refuses-unknown-enums', messages.enums, messages.enums, 'stopReason FUTURE_VALUE'],
    ['needs-every-field', messages.absent, messages.absent, 'TypeError'],
    ['no-pong', messages.ping, messages.ping, 'expected a pong', short],
    ['empty-pong', messages.ping, messages.ping, 'the payload'],
    ['string-arguments', messages.calls, messages.calls, '"count":3'],
    ['int32-arguments', messages.calls, messages.calls, '"aboveInt32":123456789012'],
    ['results-twice', messages.results, messages.results, 'the request submitToolResults', short],
    ['forgets-ok', messages.results, messages.results, '"ok":false'],
    ['reuses-ids', messages.apart, rules.ids, 'sendMessage with requestId 1', short],
    ['error-ends-all', messages.errors, messages.errors, 'start_node is missing'],
    ['error-ends-all', messages.busy, messages.busy, '3004'],
    ['hides-cancel', messages.cancel, messages.cancel, 'the status "CANCELLED"'],
    ['cancels-late', messages.lateCancel, messages.lateCancel, 'the request cancelTurn'],
    ['returns-after-4409', messages.final, messages.final, 'a new connection', short],
    ['doubles-replay', messages.drop, messages.drop, 'came "one two one two'],
    ['skips-replay', messages.drop, messages.drop, 'came "one two four five"'],
    ['wrong-token', messages.drop, messages.drop, 'its resume_token'],
    ['resends-all', messages.drop, messages.drop, 'My name is Ada.'],
    ['never-resends', messages.again, messages.again, 'the request sendMessage', short],
    ['changes-resent', messages.again, messages.again, 'the same'],
    ['fails-while-down', messages.whileDown, messages.whileDown, 'the message in the session that goes on'],
    ['gives-up', messages.recreated, messages.recreated, 'createAgent on this connection', short],
    ['keeps-agent-ids', messages.recreated, messages.recreated, 'the agent_id 1, came 2'],
    ['forgets-dialogs', messages.recreated, messages.recreated, 'history_json'],
    ['one-attempt', messages.attempts, messages.attempts, 'expected a connection', short],
    ['breaks-off', messages.close, messages.close, 'the end with 1006'],
    ['outlives-stdin', messages.stdin, messages.stdin, 'a close frame', short],
    ['misspells', messages.streamed, rules.frames, 'sendMessage.txt is not known here'],
    ['no-mask', messages.streamed, rules.frames, 'MASK must be set'],
    ['writes-notes', messages.streamed, rules.events, 'connected!'],
    ['forgets-subprotocol', messages.streamed, rules.subprotocol, 'no subprotocol', undefined, 'proto'],
  ] as const)(
    '%s fails: %s',
    async (fault, only, failed, reason, timeoutMs?: number, codec: 'json' | 'proto' = 'json') => {
      const command = brokenClient(fault);
      const results = await resultsOf({ command, codecs: [codec], only: [only], ...(timeoutMs && { timeoutMs }) });
      const result = results.find(({ name }) => name === failed);
      expect(result).toMatchObject({ name: failed, outcome: 'failed' });
      expect(result?.reason).toContain(reason);
    },
  );
});
