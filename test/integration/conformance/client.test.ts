import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { checkClient, type ClientCheckOptions } from '../../../conformance/client/checkClient.ts';
import type { CheckResult } from '../../../conformance/report.ts';
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

const checks = {
  refused: 'a handshake that is refused with 401, 403, 404 or 503 is an error of connect',
  notReady: 'a connection that ends before SessionReady is an error of connect',
  slowHandshake: 'a slow handshake is waited for, and the token is sent with it',
  streamed: 'a streamed answer is reported piece by piece',
  answerFields: 'the fields of an answer are no part of its text',
  characters: 'characters of every length arrive as they are',
  escapes: 'characters that are escaped as a pair of surrogates are read',
  fragments: 'messages in WebSocket fragments are joined, also where a character is cut',
  tcp: 'frames that TCP cuts or joins are read',
  large: 'large frames and long answers are read',
  long: 'a long message and a long dialog are sent as they are',
  slow: 'a slow server is waited for',
  fields: 'unknown fields are ignored',
  bodies: 'unknown messages are ignored',
  enums: 'unknown enum values and unknown events of nodes are ignored',
  absent: 'absent fields and null are read as defaults',
  unknownError: 'an unknown error code is reported with its message',
  ping: 'a ping is answered with its payload',
  calls: 'the calls of a turn are reported in order, with arguments of every type',
  results: 'results are sent once, and the turn goes on with them',
  refusedResults: 'refused results are an error, and the turn goes on',
  order: 'answers that come out of order are matched to their requests',
  apart: 'the turns of two agents are kept apart',
  errors: 'the error of one agent does not end the turn of another',
  busy: 'a message to a busy agent is an error, and its turn goes on',
  cancel: 'a cancelled turn ends with the text so far',
  lateCancel: 'a cancel that comes too late cancels no other turn',
  final: 'close 4409 ends the connection for good',
  drop: 'after a drop in the middle of a turn no text is lost and none is doubled',
  secondDrop: 'a drop during the replay loses and doubles nothing',
  again: 'a request that the server has not received takes effect once',
  whileDown: 'a message that is sent without a connection is delivered once, or is an error',
  recreated: 'agents are created again when a resume is refused',
  attempts: 'an attempt to connect again that fails is followed by another one',
  shutdown: 'a server that shuts down is left, and its session is not resumed',
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
const timeoutMs = 1000;

interface PlantedFault {
  readonly fault: string;
  readonly check: string;
  /** The check that fails, where it is a rule for all frames. */
  readonly failed?: string;
  /** A part of the reason. */
  readonly reason: string;
  readonly timeoutMs?: number;
  readonly codec?: 'json' | 'proto';
}

const plantedFaults: readonly PlantedFault[] = [
  { fault: 'hangs-when-refused', check: checks.refused, reason: 'an error with code 1001', timeoutMs },
  { fault: 'hangs-before-ready', check: checks.notReady, reason: 'an error with code 1001', timeoutMs },
  { fault: 'no-token', check: checks.slowHandshake, reason: 'expected the token' },
  { fault: 'text-at-the-end', check: checks.streamed, reason: 'the events of the turn', timeoutMs },
  { fault: 'raw-fields', check: checks.answerFields, reason: 'the fields' },
  { fault: 'loses-surrogates', check: checks.characters, reason: 'the pieces of the answer' },
  { fault: 'reads-escapes-apart', check: checks.escapes, reason: 'the pieces of the answer' },
  { fault: 'fragment-is-message', check: checks.fragments, reason: 'the events of the turn', timeoutMs },
  { fault: 'decodes-fragments-apart', check: checks.fragments, reason: 'the pieces of the answer' },
  { fault: 'read-is-frame', check: checks.tcp, reason: 'the events of the turn', timeoutMs },
  { fault: 'small-buffer', check: checks.large, reason: 'the pieces of the answer' },
  { fault: 'cuts-long-texts', check: checks.long, reason: 'the text of the message' },
  { fault: 'is-impatient', check: checks.slow, reason: 'no answer within 200 ms' },
  { fault: 'refuses-unknown-fields', check: checks.fields, reason: 'unknown field in' },
  { fault: 'refuses-unknown-messages', check: checks.bodies, reason: 'unknown message futureMessage' },
  { fault: 'refuses-unknown-enums', check: checks.enums, reason: 'stopReason FUTURE_VALUE' },
  { fault: 'needs-every-field', check: checks.absent, reason: 'TypeError' },
  { fault: 'takes-null-for-a-message', check: checks.absent, reason: 'TypeError' },
  { fault: 'hides-unknown-errors', check: checks.unknownError, reason: 'came "unknown error"' },
  { fault: 'no-pong', check: checks.ping, reason: 'expected a pong', timeoutMs },
  { fault: 'string-arguments', check: checks.calls, reason: '"count":3' },
  { fault: 'int32-arguments', check: checks.calls, reason: '"aboveInt32":123456789012' },
  { fault: 'results-twice', check: checks.results, reason: 'the request submitToolResults', timeoutMs },
  { fault: 'forgets-ok', check: checks.results, reason: '"ok":false' },
  { fault: 'ignores-refusals', check: checks.refusedResults, reason: 'an error with code 3012' },
  { fault: 'answers-in-order', check: checks.order, reason: 'the agent_id 1, came 2' },
  { fault: 'reuses-ids', check: checks.apart, reason: 'the events of the turn', timeoutMs },
  { fault: 'reuses-ids', check: checks.apart, failed: rules.ids, reason: 'sendMessage with requestId 1', timeoutMs },
  { fault: 'error-ends-all', check: checks.errors, reason: 'start_node is missing' },
  { fault: 'error-ends-all', check: checks.busy, reason: '3004' },
  { fault: 'hides-cancel', check: checks.cancel, reason: 'the status "CANCELLED"' },
  { fault: 'cancels-late', check: checks.lateCancel, reason: 'the request cancelTurn' },
  { fault: 'returns-after-4409', check: checks.final, reason: 'a new connection', timeoutMs },
  { fault: 'doubles-replay', check: checks.drop, reason: 'came "one two one two' },
  { fault: 'wrong-token', check: checks.drop, reason: 'its resume_token' },
  { fault: 'hides-session', check: checks.drop, reason: 'the parameter session=' },
  { fault: 'resends-all', check: checks.drop, reason: 'My name is Ada.' },
  { fault: 'counts-no-replay', check: checks.secondDrop, reason: 'the pieces of the answer' },
  { fault: 'never-resends', check: checks.again, reason: 'the request sendMessage', timeoutMs },
  { fault: 'fails-while-down', check: checks.whileDown, reason: 'the message in the session that goes on' },
  { fault: 'gives-up', check: checks.recreated, reason: 'createAgent on this connection', timeoutMs },
  { fault: 'keeps-agent-ids', check: checks.recreated, reason: 'the agent_id 1, came 2' },
  { fault: 'forgets-dialogs', check: checks.recreated, reason: 'history_json' },
  { fault: 'one-attempt', check: checks.attempts, reason: 'expected a connection', timeoutMs },
  { fault: 'resumes-after-1001', check: checks.shutdown, reason: 'no resumeSession after close 1001' },
  { fault: 'breaks-off', check: checks.close, reason: 'the end with 1006' },
  { fault: 'outlives-stdin', check: checks.stdin, reason: 'a close frame', timeoutMs },
  { fault: 'misspells', check: checks.streamed, failed: rules.frames, reason: 'sendMessage.txt is not known here' },
  { fault: 'no-mask', check: checks.streamed, failed: rules.frames, reason: 'MASK must be set' },
  { fault: 'writes-notes', check: checks.streamed, failed: rules.events, reason: 'connected!' },
  {
    fault: 'forgets-subprotocol',
    check: checks.streamed,
    failed: rules.subprotocol,
    reason: 'no subprotocol',
    codec: 'proto',
  },
  {
    fault: 'misspells-subprotocol',
    check: checks.streamed,
    failed: rules.subprotocol,
    reason: 'the subprotocols turngraph.v1 (',
  },
];

// Concurrently: the kit waits most of the time.
describe.concurrent('a client program', () => {
  it.each(['json', 'proto'] as const)('over turngraph/client passes all checks in %s', async (codec) => {
    const results = await resultsOf({ command: nodeClient, codecs: [codec] });
    expect(notPassed(results)).toEqual([]);
    expect(results.length).toBeGreaterThan(35);
  });

  it('passes all checks when it resumes, and the codec that it does not support is skipped', async () => {
    const results = await resultsOf({ command: brokenClient() });
    const name = 'the program runs with turngraph.v1.proto';
    expect(notPassed(results)).toEqual([{ name, codec: 'proto', outcome: 'skipped', reason: expect.any(String) }]);
    // Each check can fail.
    const planted = new Set(plantedFaults.map(({ check, failed = check }) => failed));
    expect(results.map((result) => result.name).filter((checked) => !planted.has(checked))).toEqual([name]);
  });

  it('passes all checks when it creates its agents again instead of resuming', async () => {
    expect(notPassed(await resultsOf({ command: brokenClient('--restarts'), codecs: ['json'] }))).toEqual([]);
  });

  it('passes on a slow machine, where pongs come late', async () => {
    const only = [checks.fields, checks.bodies, checks.enums];
    const command = brokenClient('late-pong');
    expect(notPassed(await resultsOf({ command, codecs: ['json'], only }))).toEqual([]);
  });

  it('fails when it supports no codec that is asked for', async () => {
    const results = await resultsOf({ command: brokenClient(), codecs: ['proto'] });
    expect(results).toMatchObject([{ name: 'the program runs with turngraph.v1.proto', outcome: 'failed' }]);
  });
});

describe.concurrent('a client program that hangs', () => {
  it('is killed after the time limit, with what it has started', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'turngraph-'));
    const program = join(folder, 'hangs.mjs');
    await writeFile(
      program,
      `import { spawn } from 'node:child_process';
       import { writeFileSync } from 'node:fs';
       const child = spawn(process.execPath, ['-e', 'setInterval(() => {}, 1000)']);
       writeFileSync('${join(folder, 'pid').replaceAll('\\', '/')}', String(child.pid));
       process.stdin.once('data', (line) => {
         const { id } = JSON.parse(line);
         console.error('Task failed:\\n KeyError');
         console.log(JSON.stringify({ id, event: 'error', code: 0, message: 'no such command' }));
       });`,
    );
    const command = `${node} ${JSON.stringify(program)}`;
    const results = await resultsOf({ command, codecs: ['json'], only: [checks.streamed], timeoutMs: 500 });
    const reason =
      'expected a connection, came within 500 ms nothing; it wrote to standard error: Task failed: | KeyError (PROTOCOL.md, "Connecting")';
    expect(results).toContainEqual({ name: checks.streamed, codec: 'json', outcome: 'failed', reason });
    await whenEnded(Number(await readFile(join(folder, 'pid'), 'utf8')));
    await rm(folder, { recursive: true });
  });
});

describe.concurrent('a client program with a fault', () => {
  it.each(plantedFaults)(
    '$fault: $check',
    async ({ fault, check, failed = check, reason, codec = 'json', ...limit }) => {
      const results = await resultsOf({ command: brokenClient(fault), codecs: [codec], only: [check], ...limit });
      const result = results.find(({ name }) => name === failed);
      expect(result).toMatchObject({ name: failed, outcome: 'failed' });
      expect(result?.reason).toContain(reason);
    },
  );
});
