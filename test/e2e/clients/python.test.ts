import { execFile, execFileSync } from 'node:child_process';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { seededBytes } from '../../helpers/fakeHub.ts';
import { startHubServer } from '../../helpers/hubFixture.ts';
import { useServer, repositoryPath } from '../../helpers/server.ts';
import { Gate } from '../../helpers/gate.ts';
import { oneDayMs } from '../../helpers/heldEngine.ts';

const run = promisify(execFile);

/** Whether a command succeeds. */
function works(command: string, ...args: readonly string[]): boolean {
  try {
    execFileSync(command, args, { stdio: 'ignore' });
    return true;
  } catch {
    return false;
  }
}

// Debian's packages belong to Debian's Python, which need not be the first in the path.
const python = ['/usr/bin/python3', 'python3'].find((one) => works(one, '-c', 'import websockets, google.protobuf'));
const missing = [
  python === undefined ? 'python3-websockets and python3-protobuf' : '',
  works('protoc', '--version') ? '' : 'protobuf-compiler (protoc)',
].filter((name) => name !== '');
const mend = `missing ${missing.join(' and ')}; apt-get install python3 python3-websockets python3-protobuf protobuf-compiler`;
const demanded = process.env['TURNGRAPH_TEST_PYTHON'] === '1';
const leftOut = missing.length > 0 && !demanded;

const slowly = new Gate();
const server = useServer({
  script: [
    {
      match: 'porch light',
      answer: '<tool_call>\n{"name": "set_light", "arguments": {"name": "porch", "on": "true"}}',
    },
    { match: 'slowly', answer: 'one two three four five six', gate: slowly },
    { match: 'never', answer: 'late', delay_ms: oneDayMs },
  ],
});
const locked = useServer({ token: 'open sesame' });

describe.runIf(!leftOut)(leftOut ? `the Python client (left out: ${mend})` : 'the Python client', () => {
  let folder = '';

  beforeAll(async () => {
    if (missing.length > 0) throw new Error(mend);
    folder = await mkdtemp(join(tmpdir(), 'turngraph-python-'));
    await run('protoc', ['-I', repositoryPath('proto/turngraph/v1'), `--python_out=${folder}`, 'wire.proto']);
  });
  afterAll(() => rm(folder, { recursive: true, force: true }));

  /** Starts a Python file beside the client. */
  function starts(file: string, ...args: readonly string[]) {
    const PYTHONPATH = `${repositoryPath('docs/clients/python')}:${folder}`;
    const env = { ...process.env, PYTHONPATH, PYTHONDONTWRITEBYTECODE: '1', PYTHONUTF8: '1' };
    return run(python ?? 'python3', ['-W', 'error', file, ...args], { env });
  }

  /** Runs a Python file beside the client, and gives what it prints. */
  const printed = async (file: string, ...args: readonly string[]): Promise<string> =>
    (await starts(file, ...args)).stdout;

  describe.each(['json', 'proto'])('over %s', (form) => {
    let story: Readonly<Record<string, unknown>> = {};

    beforeAll(async () => {
      await using home = await startHubServer();
      home.hub.files.set('ann/tiny/model.gguf', { content: seededBytes(8_000) });
      home.hub.maxBytesSent = 0;
      slowly.close();
      const args = [server().url, locked().url, home.server.url, form, repositoryPath('proto/golden/golden.json')];
      const telling = starts(repositoryPath('test/e2e/clients/story.py'), ...args);
      telling.child.stderr?.on('data', (text: string) => {
        if (text.includes('let the answer go on')) slowly.open();
        if (text.includes('let the hub go on')) home.hub.maxBytesSent = Infinity;
      });
      story = JSON.parse((await telling).stdout) as typeof story;
    });

    it('streams an answer, and gives its account', () => {
      expect(story['streams']).toMatchObject({
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

    it('hears of calls, with their arguments as values', () => {
      expect(story['calls']).toMatchObject([
        { tool_name: 'set_light', arguments: { name: 'porch', on: true }, call_index: 0, known: true, issues: [] },
      ]);
    });

    it('cancels a turn, and the agent answers the next message', () => {
      expect(story['cancels']).toMatchObject({
        status: 'CANCELLED',
        text: expect.stringMatching(/^one /) as unknown,
        after: 'You said: hello',
      });
    });

    it('gives up on a turn after a timeout, and cancels it', () => {
      expect(story['gives_up']).toMatchObject({ first: { kind: 'TimedOut', code: 1003 }, second: 'You said: hello' });
    });

    it('changes parameters, and hears which cannot change', () => {
      expect(story['changes']).toMatchObject({ pieces: ['You said: he'], refused: { code: 3006 } });
    });

    it('saves a conversation of many parts and goes on with it', () => {
      const last = { user: 'hello', assistant: 'You said: hello', variables: { place: 'tavern' } };
      expect(story['saves']).toEqual({ same: true, turns: 4, last, cleared: [] });
    });

    it('makes string storages, and hears events of nodes', () => {
      expect(story['guards']).toMatchObject({
        entries: 2,
        events: [{ event_type: 'guardrail_triggered', payload: { pattern_index: 1 }, node_name: 'guard' }],
        debug: true,
        keys: 2,
      });
    });

    it('raises what is refused, with code, name and sentence', () => {
      expect(story['is_refused']).toMatchObject({
        busy: { kind: 'TurngraphError', code: 3004, name: 'AGENT_BUSY' },
        went_on: 'one two three four five six',
        graph: { code: 3003, faults: ['/start_node', '/nodes/answer/exits/default'] },
        resume: { code: 2003, name: 'SESSION_NOT_RESUMABLE' },
        turn: { kind: 'TurnFailed', code: 4003, text: 'tick tick tick ', path: [{ exit: 'default' }, {}, {}] },
      });
    });

    it('lists, loads and unloads models', () => {
      expect(story['meets_models']).toMatchObject({
        models: expect.arrayContaining([
          expect.objectContaining({
            name: 'turngraph-demo',
            context_size: 2048,
            default_sampling: expect.objectContaining({ minP: 0.05 }) as unknown,
          }),
        ]) as unknown,
        pinned: true,
        after: false,
      });
    });

    it('downloads models, leaves downloads, deletes, and hears how far the model of an agent is', () => {
      expect(story['downloads']).toMatchObject({
        late: { kind: 'TimedOut' },
        cancelled: { code: 6011, name: 'DOWNLOAD_CANCELLED' },
        size: 8_000,
        told: { model_name: 'Tiny', phase: 'DOWNLOADING', fraction: 1, bytes_done: 8_000, bytes_total: 8_000 },
        absent: { code: 6008 },
        status: 'ABSENT',
        phases: ['DOWNLOADING', 'LOADING'],
        last: 'LOADING',
        agent: 1,
      });
    });

    it('talks to many agents at once', () => {
      expect(story['many_at_once']).toEqual(Array.from({ length: 8 }, () => true));
    });

    it('fails what waits when the connection drops, and says why', () => {
      const dropped = {
        kind: 'ConnectionDropped',
        code: 1002,
        message: expect.stringMatching(/1009.*a frame may have 1048576 bytes/) as unknown,
      };
      expect(story['drops']).toMatchObject({
        dropped: { ...dropped, close_code: 1009 },
        turn: dropped,
        after: dropped,
      });
    });

    it('cannot connect without the token, or without a server', () => {
      expect(story['without_token']).toMatchObject({
        kind: 'ConnectionFailed',
        message: expect.stringContaining('401') as unknown,
      });
      expect(story['with_token']).toBeNull();
      expect(story['without_server']).toMatchObject({ kind: 'ConnectionFailed', code: 1001 });
    });

    it('reads and writes the golden frames byte for byte', () => {
      expect(story['golden']).toEqual([]);
    });

    it('runs its example', async () => {
      const said = await printed(
        repositoryPath('docs/clients/python/example.py'),
        '--url',
        server().url,
        '--engine',
        'mock',
        '--form',
        form,
      );
      expect(said).toContain('the porch light goes on');
      expect(said).toContain('keeper: You said: What did I say?  (2 interactions)');
      expect(said).toContain('did you mean "answer"?');
    });
  });

  it('runs the ten lines of its README', async () => {
    const readme = await readFile(repositoryPath('docs/clients/python/README.md'), 'utf8');
    const [, lines = ''] = /```python\n(.*?)```/s.exec(readme) ?? [];
    const file = join(folder, 'tenLines.py');
    await writeFile(file, lines.replace('ws://127.0.0.1:9100', server().url));
    expect(await printed(file)).toBe("set_light {'name': 'porch', 'on': True}\n");
  });
});
