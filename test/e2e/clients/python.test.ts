import { execFile } from 'node:child_process';
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { beforeAll, describe, expect, it } from 'vitest';
import { seededBytes } from '../../helpers/fakeHub.ts';
import { startHubServer } from '../../helpers/hubFixture.ts';
import { findFaults } from '../../helpers/maliciousServer.ts';
import { isSkipped } from '../../helpers/requirements.mjs';
import { useServer, repositoryPath } from '../../helpers/server.ts';
import { Gate } from '../../helpers/gate.ts';
import { oneDayMs } from '../../helpers/heldEngine.ts';
import { expectConformance } from './conformanceRun.ts';
import { visitMaliciousServers } from './maliciousVisits.ts';
import { exampleProcess, runExample } from './exampleRun.ts';
import { expectPrograms } from './playgroundPrograms.ts';
import { usePython } from './pythonProgram.ts';
import { expectScenarios } from './sharedScenarios.ts';

const slowAnswer = new Gate();
const server = useServer({
  script: [
    {
      match: 'porch light',
      answer: '<tool_call>\n{"name": "set_light", "arguments": {"name": "porch", "on": "true"}}',
    },
    { match: 'slowly', answer: 'one two three four five six', gate: slowAnswer },
    { match: 'never', answer: 'late', delay_ms: oneDayMs },
  ],
});
const locked = useServer({ token: 'open sesame' });

describe.skipIf(isSkipped('pythonClient'))('the Python client', () => {
  const python = usePython('pythonClient');

  describe.each(['json', 'proto'])('over %s', (codec) => {
    let results: Readonly<Record<string, unknown>> = {};

    beforeAll(async () => {
      await using fixture = await startHubServer();
      fixture.hub.files.set('ann/tiny/model.gguf', { content: seededBytes(8_000) });
      fixture.hub.maxBytesSent = 0;
      slowAnswer.close();
      const args = [server().url, locked().url, fixture.server.url, codec, repositoryPath('proto/golden/golden.json')];
      const scenarios = python.start(repositoryPath('test/e2e/clients/scenarios.py'), ...args);
      scenarios.child.stderr?.on('data', (text: string) => {
        if (text.includes('release the answer')) slowAnswer.open();
        if (text.includes('release the hub')) fixture.hub.maxBytesSent = Infinity;
      });
      results = JSON.parse((await scenarios).stdout) as typeof results;
    });

    it('streams an answer, and returns its summary', () => {
      expect(results['streams']).toMatchObject({
        pieces: [
          ['You ', true],
          ['said: ', true],
          ['hello', true],
        ],
        result: {
          text: 'You said: hello',
          turn_id: 1,
          status: 'SUCCESS',
          stop_reason: 'END',
          path: [{ node_name: 'answer', exit: 'default' }],
          tokens_generated: 4,
          calls: [],
          warnings: [],
          debug_info: null,
        },
      });
    });

    it('receives calls with typed arguments', () => {
      expect(results['calls']).toMatchObject([
        { tool_name: 'set_light', arguments: { name: 'porch', on: true }, call_index: 0, known: true, issues: [] },
      ]);
    });

    it('ends each visit of a malicious server with an error that names what happened and the limit', async () => {
      const outcomes = await visitMaliciousServers((urls) => {
        const program = python.start(repositoryPath('test/e2e/clients/visits.py'), codec, ...urls);
        program.catch(() => {});
        return program.child;
      });
      const settings = {
        connect: 'connect_timeout',
        request: 'raise timeout',
        idle: 'idle_timeout',
        reconnect: 'connections before it',
        frame: 'max_frame_bytes',
        answer: 'max_answer_bytes',
        pages: 'page',
      };
      expect(findFaults(outcomes, settings)).toEqual([]);
    });

    it('cancels a turn, and the agent answers the next message', () => {
      expect(results['cancels']).toMatchObject({
        status: 'CANCELLED',
        text: expect.stringMatching(/^one /) as unknown,
        after: 'You said: hello',
      });
    });

    it('cancels a turn after a timeout', () => {
      expect(results['times_out']).toMatchObject({
        first: { kind: 'TimedOut', code: 1003 },
        second: 'You said: hello',
      });
    });

    it('changes parameters, and raises for one that cannot change', () => {
      expect(results['changes']).toMatchObject({ pieces: ['You said: he'], rejected: { code: 3006 } });
    });

    it('exports a long conversation and continues it in another agent', () => {
      const last = { user: 'hello', assistant: 'You said: hello', variables: { place: 'tavern' } };
      expect(results['saves']).toEqual({ same: true, turns: 4, last, cleared: [] });
    });

    it('creates string storages, and receives node events', () => {
      expect(results['guards']).toMatchObject({
        entries: 2,
        events: [{ event_type: 'guardrail_triggered', payload: { index: 1 }, node_name: 'guard' }],
        debug: true,
        keys: 2,
        found: ['de'],
      });
    });

    it('raises errors with code, name and message', () => {
      expect(results['raises']).toMatchObject({
        busy: { kind: 'TurngraphError', code: 3004, name: 'AGENT_BUSY' },
        continued: 'one two three four five six',
        graph: { code: 3003, faults: ['/start_node', '/nodes/answer/exits/default'] },
        resume: { code: 2003, name: 'SESSION_NOT_RESUMABLE' },
        misspelt: { code: 5002, message: 'createAgnt is no message of this protocol; did you mean "createAgent"?' },
        turn: { kind: 'TurnFailed', code: 4003, text: 'tick tick tick ', path: [{ exit: 'default' }, {}, {}] },
      });
    });

    it('raises 5001 for arguments of the wrong type, and continues', () => {
      const { codes, after, pending } = results['refuses'] as {
        readonly codes: Readonly<Record<string, readonly [number, string] | null>>;
        readonly after: string;
        readonly pending: number;
      };
      expect(Object.keys(codes).length).toBeGreaterThan(10);
      expect(Object.entries(codes).filter(([, refusal]) => refusal?.[0] !== 5001)).toEqual([]);
      expect(codes['None as text']?.[1]).toBe('sendMessage.text must not be None');
      expect({ after, pending }).toEqual({ after: 'You said: hello', pending: 0 });
    });

    it('sends no frame that is too long, names its longest field, and continues', () => {
      const tooLong = (request: string, field: string): unknown => {
        const what = `${request} has \\d+ bytes, most of them in ${field}`;
        return expect.stringMatching(new RegExp(`^${what}, and a frame may have 1048576; nothing was sent`));
      };
      expect(results['sends_no_frame_that_is_too_long']).toEqual({
        codes: [
          [5003, tooLong('sendMessage', 'text')],
          [5003, tooLong('createAgent', 'historyJson')],
        ],
        after: 'You said: hello',
      });
    });

    it('lists, loads and unloads models', () => {
      expect(results['manages_models']).toMatchObject({
        models: expect.arrayContaining([
          expect.objectContaining({
            name: 'turngraph-demo',
            context_size: 640,
            default_sampling: expect.objectContaining({ minP: 0.05 }) as unknown,
          }),
        ]) as unknown,
        pinned: true,
        after: false,
        suggested: {
          machine: { cores: expect.any(Number) as unknown },
          models: expect.arrayContaining([
            expect.objectContaining({ name: 'turngraph-demo', variant: 'turngraph-demo.gguf', download_bytes: 0 }),
          ]) as unknown,
        },
        nothing: [],
        wrong: { code: 5001 },
      });
    });

    it('downloads, cancels and deletes models, and receives the progress for an agent', () => {
      expect(results['downloads']).toMatchObject({
        late: { kind: 'TimedOut' },
        cancelled: { code: 6011, name: 'DOWNLOAD_CANCELLED' },
        size: 8_000,
        progress: { model_name: 'Tiny', phase: 'DOWNLOADING', fraction: 1, bytes_done: 8_000, bytes_total: 8_000 },
        absent: { code: 6008 },
        status: 'ABSENT',
        phases: ['DOWNLOADING', 'LOADING'],
        last: 'LOADING',
        agent: 1,
      });
    });

    it('runs many agents concurrently', () => {
      expect(results['runs_many']).toEqual(Array.from({ length: 8 }, () => true));
    });

    it('rejects pending requests when the connection drops, with the reason', () => {
      const dropped = {
        kind: 'ConnectionDropped',
        code: 1002,
        message: expect.stringMatching(/1009.*a frame may have 1048576 bytes/) as unknown,
      };
      expect(results['drops']).toMatchObject({
        dropped: { ...dropped, close_code: 1009 },
        turn: dropped,
        after: dropped,
      });
    });

    it('cannot connect without the token, or without a server', () => {
      expect(results['without_token']).toMatchObject({
        kind: 'ConnectionFailed',
        message: expect.stringContaining('401') as unknown,
      });
      expect(results['with_token']).toBeNull();
      expect(results['without_server']).toMatchObject({ kind: 'ConnectionFailed', code: 1001 });
    });

    it('decodes and encodes the golden frames byte for byte', () => {
      expect(results['golden']).toEqual([]);
    });

    it('runs its example, which goes on in the middle of an answer when the connection breaks', async () => {
      const program = repositoryPath('examples/python/example.py');
      const open = (url: string) => exampleProcess(python.start(program, '--url', url, '--form', codec).child);
      const output = await runExample(open, { last: /refused: .*did you mean "answer"/ });
      expect(output).toContain('restored: 2 interactions\n');
    });
  });

  it.concurrent.each(['json', 'proto'] as const)('passes the conformance kit over %s', async (codec) => {
    await expectConformance(python.command(repositoryPath('examples/python/conform.py')), [codec]);
  });

  it.concurrent.each(['json', 'proto'])('runs the scenarios of all clients over %s', async (codec) => {
    const env = { TURNGRAPH_CODEC: `turngraph.v1.${codec}` };
    await expectScenarios(['sh', '-c', python.command(repositoryPath('examples/python/conform.py'))], { env });
  });

  it.concurrent('runs the programs that the playground writes', async () => {
    await expectPrograms('python', async ({ code, folder, token }) => {
      await writeFile(join(folder, 'program.py'), code);
      const env = { ...process.env, TURNGRAPH_TOKEN: token };
      return (await promisify(execFile)('sh', ['-c', python.command('program.py')], { cwd: folder, env })).stdout;
    });
  });

  describe('when the connection ends', () => {
    let results: Readonly<Record<string, unknown>> = {};

    beforeAll(async () => {
      results = await python.results('reconnects.py');
    });

    it('sends again what the server has not received, with the same bytes, and nothing else', () => {
      expect(results['resends_what_was_not_received']).toEqual({
        resume: [{ sessionId: 's0', resumeToken: 't0', lastSeq: 1 }],
        session: 's0',
        same: true,
        numbers: [
          [1, 2, 3],
          [0xffff_ffff, 3, 4],
        ],
        told: [['reconnecting', 1006], ['resumed']],
      });
    });

    it('drops frames that it has received already', () => {
      expect(results['drops_what_it_has_received']).toEqual({ text: 'one two three', resume: [3] });
    });

    it('tries again when the connection is cut while it resumes', () => {
      const cut = ['reconnecting', 1006];
      expect(results['tries_again_when_the_resume_is_cut']).toEqual({
        connections: 4,
        told: [cut, ['resumed'], cut, ['resumed']],
      });
    });

    it.each([
      ['gap', /^the server sent frame 3 after frame 1$/, [1002], []],
      ['ended', /1006; the session is lost: no such session$/, [1006, 1000], ['reconnecting']],
      ['token', /1006; the session is lost: no such session$/, [1006, 4401], ['reconnecting']],
      ['count', /the server counts 7 requests, where 0 to 1 are possible$/, [1006, 1000], ['reconnecting']],
      ['off', /^the connection was closed with 1006$/, [1006], []],
    ])('raises for a lost session: %s', (name, message, codes, told) => {
      const lost = (results['loses_sessions'] as Readonly<Record<string, unknown>>)[name];
      const because = expect.stringMatching(message) as unknown;
      expect(lost).toMatchObject({ pending: ['ConnectionDropped', 1002, because], same: true, codes });
      expect((lost as { readonly told: readonly unknown[] }).told).toEqual([
        ...told.map((event) => [event, 1006]),
        ['lost', name === 'gap' ? 1002 : 1006, because],
      ]);
    });

    it('gives up when no attempt succeeds in time', () => {
      expect(results['loses_sessions']).toMatchObject({
        time: {
          pending: ['ConnectionDropped', 1002, expect.stringContaining('no new connection within 0.6 s') as unknown],
          told: [['reconnecting', 1006], expect.arrayContaining(['lost', 1006]) as unknown],
        },
      });
    });

    it('does not reconnect after a close code that ends the session', () => {
      expect(results['does_not_reconnect_after']).toEqual({ 1001: 1, 1009: 1, 4401: 1, 4406: 1, 4409: 1, 4429: 1 });
    });

    it('reconnects after a clean close by the server', () => {
      expect(results['reconnects_after_a_clean_close']).toEqual([1, 2]);
    });

    it('destroys its agents when the program closes it, and calls nothing back', () => {
      const requests = [{ agentId: 5 }, { agentId: 7 }];
      expect(results['destroys_its_agents_first']).toEqual({ requests, code: 1000, told: [] });
    });

    it('can be closed while it reconnects', () => {
      expect(results['closes_while_it_reconnects']).toEqual({
        pending: ['ConnectionDropped', 1002, 'the connection was closed with 1006; the client closed the connection'],
        told: [],
        connections: 1,
      });
    });

    it('resumes although a callback raises, and logs that', () => {
      expect(results['survives_an_error_of_a_callback']).toEqual({ answer: {}, logged: ['of the program'] });
    });

    it('waits longer after each attempt, at random', () => {
      expect(results['waits_longer_each_time']).toEqual({ within: true, different: true });
    });
  });

  it('runs the ten lines of its README', async () => {
    const readme = await readFile(repositoryPath('examples/python/README.md'), 'utf8');
    const [, lines = ''] = /```python\n(.*?)```/s.exec(readme) ?? [];
    const file = join(python.folder(), 'tenLines.py');
    await writeFile(file, lines.replace('ws://127.0.0.1:9100', server().url));
    expect((await python.start(file)).stdout).toBe("set_light {'name': 'porch', 'on': True}\n");
  });
});
