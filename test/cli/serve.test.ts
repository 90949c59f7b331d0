import { spawn, type ChildProcessWithoutNullStreams } from 'node:child_process';
import { once } from 'node:events';
import { mkdir, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { WebSocket } from 'ws';
import { chat } from '../helpers/graphs.ts';
import { isSkipped } from '../helpers/requirements.mjs';
import { repositoryPath, TestClient, errorOf } from '../helpers/server.ts';
import { untilExit, readFirstLine, runCli, startCli, startCliLoggingTo, useCommandHost } from './command.ts';
import { Terminal } from './terminal.ts';

const runCommand = useCommandHost();

interface ListeningEvent {
  readonly event: string;
  readonly port: number;
  readonly pid: number;
}

/** A server that starts an engine process at once, as it does for a player. */
const playerArgs = ['serve', '--port', '0', '--json', '--log-level', 'error'];
// A server with a script does not start one, of which most tests know nothing.
const mockArgs = [
  'serve',
  '--port',
  '0',
  '--json',
  '--mock-script',
  repositoryPath('test/fixtures/emptyMockScript.json'),
];
const quietArgs = [...mockArgs, '--log-level', 'error'];

// Opening a model file waits while the port is open, so the server stops before its preloaded model is loaded.
const slowDiskSource = `
  import disk from 'node:fs/promises';
  import { syncBuiltinESMExports } from 'node:module';
  import { setTimeout as wait } from 'node:timers/promises';
  const { open } = disk;
  disk.open = async (path, ...rest) => {
    const isModel = String(path).endsWith('.gguf');
    while (isModel && process.getActiveResourcesInfo().includes('TCPServerWrap')) await wait(20);
    return open(path, ...rest);
  };
  syncBuiltinESMExports();
  export const nodeTypes = [];
`;

describe('turngraph serve', () => {
  it('prints one line of JSON when it listens, and ends on SIGTERM', async () => {
    const child = startCli(playerArgs);
    const end = untilExit(child);
    const line = JSON.parse(await readFirstLine(child)) as ListeningEvent;
    expect(line).toMatchObject({ event: 'listening', pid: child.pid });
    await using client = await TestClient.connect(`ws://127.0.0.1:${line.port}`, 'turngraph.v1.json');
    expect(await client.sendMessage(await client.createAgent(chat()), 'hello')).toMatchObject({
      text: 'You said: hello',
    });
    child.kill('SIGTERM');
    expect((await client.closed).code).toBe(1001);
    expect(await end).toMatchObject({ code: 0, out: expect.stringMatching(/^[^\n]*\n$/) as unknown });
  });

  it.skipIf(isSkipped('serveTerminal'))('prints the address of the playground in a terminal', async () => {
    await using terminal = new Terminal(['serve', '--port', '0', '--log-level', 'silent']);
    await terminal.waitFor('Playground: http://127.0.0.1:');
    await terminal.waitFor('/\r\n');
    const [, address = ''] = /Playground: (\S+)/.exec(terminal.output) ?? [];
    expect((await fetch(address)).headers.get('content-type')).toBe('text/html; charset=utf-8');
    terminal.sendKey('ctrl-c');
    expect(await terminal.exitCode()).toBe(0);
  });

  it('ends when its log output is not read', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'turngraph-'));
    const catalogue = join(folder, 'models.json');
    const invalidEntries = Array.from({ length: 3000 }, (_, index) => ({ name: `broken-${index}`, variants: [] }));
    await writeFile(catalogue, JSON.stringify({ models: invalidEntries }));
    const child = startCli([...mockArgs, '--log-level', 'warn', '--catalogue', catalogue]);
    const end = once(child, 'exit');
    await readFirstLine(child);
    child.kill('SIGTERM');
    expect(await end).toEqual([0, null]);
    await rm(folder, { recursive: true });
  });

  it.skipIf(isSkipped('fullDevice'))('answers, and ends with 0, while its log cannot be written', async () => {
    const child = startCliLoggingTo('/dev/full', [...mockArgs, '--log-level', 'debug']);
    const end = once(child, 'exit');
    const { port } = JSON.parse(await readFirstLine(child)) as ListeningEvent;
    for (let count = 0; count < 5; count++) {
      expect((await fetch(`http://127.0.0.1:${port}/health/live`)).status).toBe(200);
      await using client = await TestClient.connect(`ws://127.0.0.1:${port}`, 'turngraph.v1.json');
      const agentId = await client.createAgent('guarded-chat');
      expect(await client.sendMessage(agentId, 'hello')).toMatchObject({ status: 'SUCCESS' });
    }
    child.kill('SIGTERM');
    expect(await end).toEqual([0, null]);
  });

  it('logs to a file, in a folder that it makes, and nothing of what users say', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'turngraph-'));
    const file = join(folder, 'logs', 'server.log');
    const child = startCli([...mockArgs, '--log-file', file, '--no-playground']);
    const end = untilExit(child);
    const { port } = JSON.parse(await readFirstLine(child)) as ListeningEvent;
    {
      await using client = await TestClient.connect(`ws://127.0.0.1:${port}`, 'turngraph.v1.json');
      await client.sendMessage(await client.createAgent(chat()), 'a secret word');
      expect((await fetch(`http://127.0.0.1:${port}/`)).status).toBe(404);
    }
    child.kill('SIGTERM');
    expect(await end).toMatchObject({ code: 0, err: '' });
    const log = await readFile(file, 'utf8');
    expect(
      log
        .trim()
        .split('\n')
        .map((line) => (JSON.parse(line) as { readonly msg: string }).msg),
    ).toEqual(expect.arrayContaining(['listening', 'shutting down']));
    expect(log).not.toContain('secret');
    await rm(folder, { recursive: true });
  });

  it('logs to stderr, with a warning, where the log file cannot be written', async () => {
    const child = startCli([...mockArgs, '--log-file', join(repositoryPath('package.json'), 'server.log')]);
    const end = untilExit(child);
    await readFirstLine(child);
    child.kill('SIGTERM');
    const { code, err } = await end;
    expect(code).toBe(0);
    expect(err).toContain('the log file cannot be written: the log is here');
    expect(err).toContain('"msg":"listening"');
  });

  it.each([
    ['its folder does not exist', 'nodir', 'port.json', 'there is no folder '],
    ['it is a folder', '.', 'folder', 'it is a folder'],
    ['its folder is a file', 'file', 'port.json', 'there is no folder '],
  ])('ends with an error when the port file cannot be written because %s', async (_, place, name, why) => {
    const folder = await mkdtemp(join(tmpdir(), 'turngraph-'));
    await mkdir(join(folder, 'folder'));
    await writeFile(join(folder, 'file'), '');
    const portFile = join(folder, place, name);
    const { code, out, err } = await runCommand([...quietArgs, '--port-file', portFile]);
    expect({ code, out }).toEqual({ code: 1, out: '' });
    expect(err).toMatch(/^error: --port-file [^\n]+\n$/);
    expect(err).toContain(`${portFile} cannot be written: ${why}`);
    expect((await readdir(folder)).sort()).toEqual(['file', 'folder']);
    await rm(folder, { recursive: true });
  });

  it('ends when the port file can no longer be written once it listens', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'turngraph-'));
    const portFile = join(folder, 'place', 'port.json');
    await mkdir(join(folder, 'place'));
    // An extension is loaded after the options have been checked, and before the server listens.
    const slow = join(folder, 'slow.mjs');
    const remove = `rmSync(${JSON.stringify(join(folder, 'place'))}, { recursive: true })`;
    await writeFile(slow, `import { rmSync } from 'node:fs';\n${remove};\nexport const nodeTypes = [];\n`);
    const { code, out, err } = await runCommand([...quietArgs, '--port-file', portFile, '--extend', slow]);
    expect({ code, out }).toEqual({ code: 1, out: '' });
    expect(err).toContain(`error: --port-file ${portFile} cannot be written: there is no folder `);
    await rm(folder, { recursive: true });
  });

  it.each(['--models', '--graphs', '--storage-root'])('ends with an error when %s is a file', async (flag) => {
    const { code, out, err } = await runCommand([...quietArgs, flag, repositoryPath('package.json')]);
    expect({ code, out, err }).toEqual({
      code: 1,
      out: '',
      err: `error: ${flag} ${repositoryPath('package.json')}: a file is in the place of that folder\n`,
    });
  });

  it('ends when its parent process ends', async () => {
    const parent = spawn(process.execPath, ['-e', 'setInterval(() => {}, 1000)']);
    const child = startCli([...quietArgs.slice(0, -1), 'warn', '--parent-pid', String(parent.pid)]);
    const end = untilExit(child);
    await readFirstLine(child);
    parent.kill();
    const { code, err } = await end;
    expect(code).toBe(0);
    expect(JSON.parse(err)).toMatchObject({ msg: `process ${parent.pid} has ended, so the server stops` });
  });

  it.each([
    ['SIGHUP', (child: ChildProcessWithoutNullStreams): unknown => child.kill('SIGHUP')],
    ['the end of its standard input', (child: ChildProcessWithoutNullStreams): unknown => child.stdin.end()],
  ])('shuts down on %s while it preloads a model', async (_, stop) => {
    const folder = await mkdtemp(join(tmpdir(), 'turngraph-'));
    await writeFile(join(folder, 'slow.mjs'), slowDiskSource);
    const args = [...playerArgs.slice(0, -1), 'info', '--stdin', '--extend', join(folder, 'slow.mjs')];
    const child = startCli([...args, '--preload', 'turngraph-demo']);
    onTestFinished(() => void child.kill('SIGKILL'));
    const end = untilExit(child);
    const [log] = (await once(child.stderr, 'data')) as [string];
    const { port } = JSON.parse(log.split('\n')[0] ?? '') as ListeningEvent;
    await using client = await TestClient.connect(`ws://127.0.0.1:${port}`, 'turngraph.v1.json');
    expect(await client.sendMessage(await client.createAgent(chat()), 'hello')).toMatchObject({
      text: 'You said: hello',
    });
    stop(child);
    expect((await client.closed).code).toBe(1001);
    expect(await end).toMatchObject({ code: 0, out: '', err: expect.stringContaining('shutting down') as unknown });
    await rm(folder, { recursive: true });
  });

  it('logs at info why it rejects a client, and neither the token nor the content of a frame', async () => {
    const child = startCli([...mockArgs, '--log-level', 'info', '--token', 'sesame']);
    onTestFinished(() => void child.kill('SIGKILL'));
    let log = '';
    child.stderr.setEncoding('utf8').on('data', (text: string) => (log += text));
    const { port } = JSON.parse(await readFirstLine(child)) as ListeningEvent;
    const url = `ws://127.0.0.1:${port}`;
    const failed = (options: object, query = ''): Promise<unknown> =>
      once(new WebSocket(url + query, options), 'error');
    await failed({ origin: 'https://evil.example' });
    await failed({ origin: 'https://evil.example' });
    await failed({ headers: { authorization: 'Bearer wrong-token' } });
    const socket = new WebSocket(`${url}?token=sesame`);
    await once(socket, 'open');
    socket.send('{"requestId": 1, "sendMessage": {"text": ["a private word"]}}');
    socket.send('{"requestId": 2, "sendMessage": {"agentId": 9, "text": "a private word"}}');
    const params = { sistem_prompt: 'a private word' };
    const graph = { start_node: 'answer', nodes: { answer: { type: 'Generate', params } } };
    socket.send(JSON.stringify({ requestId: 3, createAgent: { graph } }));
    while (!log.includes('"requestId":3')) await once(child.stderr, 'data');
    const lines = log.split('\n').filter((line) => line.includes('rejected'));
    expect(lines.map((line) => JSON.parse(line) as unknown)).toMatchObject([
      ...Array(2).fill({ msg: 'handshake rejected', reason: expect.stringContaining('evil.example') as unknown }),
      { msg: 'handshake rejected', status: 401 },
      { msg: 'frame rejected', code: 5001, session: expect.any(String) as unknown },
      { msg: 'request rejected', code: 3001, error: 'INVALID_AGENT_ID' },
      { msg: 'request rejected', code: 3003, places: '/nodes/answer/params/sistem_prompt' },
    ]);
    expect(log.split('\n').filter((line) => line.includes('"level":40'))).toEqual([
      expect.stringContaining('https://evil.example'),
    ]);
    expect(log).not.toMatch(/sesame|wrong-token|private/);
    socket.terminate();
  });

  it('ends on SIGTERM while it loads an extension', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'turngraph-'));
    const endless = join(folder, 'endless.mjs');
    await writeFile(
      endless,
      `process.stderr.write('loading');\nawait new Promise(() => setInterval(() => {}, 1000));\n`,
    );
    const child = startCli([...quietArgs, '--extend', endless]);
    onTestFinished(() => void child.kill('SIGKILL'));
    const end = untilExit(child);
    await once(child.stderr, 'data');
    child.kill('SIGTERM');
    expect(await end).toEqual({ code: 0, out: '', err: 'loading' });
    await rm(folder, { recursive: true });
  });

  it('ends when it cannot start, also when --stdin is set and standard input stays open', async () => {
    const child = startCli([...quietArgs, '--stdin', '--models', repositoryPath('package.json')]);
    onTestFinished(() => void child.kill('SIGKILL'));
    expect(await untilExit(child)).toMatchObject({ code: 1, out: '' });
  });

  it('exits immediately on a second SIGINT while turns run', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'turngraph-'));
    const script = join(folder, 'mock.json');
    await writeFile(script, '[{"match": "wait", "answer": "late", "delay_ms": 86400000}]');
    const child = startCli([...playerArgs, '--mock-script', script]);
    const end = untilExit(child);
    const { port } = JSON.parse(await readFirstLine(child)) as ListeningEvent;
    const client = await TestClient.connect(`ws://127.0.0.1:${port}`, 'turngraph.v1.json');
    const agentId = await client.createAgent(chat());
    client.send('sendMessage', { agentId, text: 'wait' });
    child.kill('SIGINT');
    const codeOfNextMessage = async (): Promise<number> =>
      errorOf(await client.request('sendMessage', { agentId, text: 'more' })).code;
    while ((await codeOfNextMessage()) !== 2001) await wait(10);
    child.kill('SIGINT');
    expect((await end).code).toBe(130);
    await client.closed;
    await rm(folder, { recursive: true });
  });

  it.each([
    ['a number beyond a double', ['--port', '1e999'], {}, 'must be an integer (TCP port to listen on), not "1e999"'],
    ['a port that is no number', ['--port', 'x'], {}, '--port (TURNGRAPH_PORT) must be an integer, not "x"'],
    [
      'a limit with a unit',
      ['--memory-limit', '1500MB'],
      {},
      '--memory-limit (TURNGRAPH_MEMORY_LIMIT) must be an integer (max megabytes of RAM',
    ],
    ['a port out of range', [], { TURNGRAPH_PORT: '70000' }, '--port (TURNGRAPH_PORT) must be <= 65535, not 70000'],
    ['a flag with a typo', ['--prot', '1'], {}, "unknown option '--prot'"],
    ['an invalid choice', ['--gpu', 'maybe'], {}, 'Allowed choices are auto, off, vulkan, cuda, metal'],
    ['layers that are no number', ['--gpu-layers', 'all'], {}, '--gpu-layers (TURNGRAPH_GPU_LAYERS) must fit'],
    ['an origin without a scheme', ['--allow-origin', 'localhost:8000'], {}, 'such as https://game.example'],
    ['several origins in one', [], { TURNGRAPH_ALLOW_ORIGIN: 'http://a,http://*' }, 'not "http://*"'],
    ['a host with a port', ['--allow-host', 'game.local:9100'], {}, 'a name or address without a port'],
  ])('rejects %s with exit code 2', async (_, args, env, message) => {
    // Refused before anything is started.
    const { code, err, out } = await runCommand(['serve', ...args], '', env);
    expect({ code, out }).toEqual({ code: 2, out: '' });
    expect(err).toContain(message);
  });

  it('ends with an error for an unknown model to preload, without loading the others', async () => {
    const models = ['turngraph-demo', 'turngraph-dmeo'];
    const { code, out, err } = await runCli(['serve', '--port', '0', '--preload', ...models]);
    expect({ code, out }).toEqual({ code: 1, out: '' });
    expect(err).toContain('the catalogue has no model "turngraph-dmeo"; did you mean "turngraph-demo"?');
    expect(err).not.toContain('a model is loaded');
    expect(err).not.toContain('listening');
  });

  it('refuses to choose a graphics card with --engine-process in', async () => {
    const { code, out, err } = await runCommand([
      'serve',
      '--port',
      '0',
      '--gpu-device',
      '1',
      '--engine-process',
      'in',
    ]);
    expect({ code, out }).toEqual({ code: 1, out: '' });
    expect(err).toContain(`--gpu-device 1 needs --engine-process child, not in: the card is chosen by`);
  });

  it('refuses to listen on other addresses than loopback without a token', async () => {
    const { code, err } = await runCommand([...quietArgs, '--host', '0.0.0.0']);
    expect(code).toBe(1);
    expect(err).toContain('--host 0.0.0.0 can be reached from other machines: set --token or TURNGRAPH_TOKEN');
  });

  it.each(['open\nsesame', ' open sesame', 'open sesame\r\n'])(
    'refuses a token that no header can carry, and does not print it: %j',
    async (token) => {
      const { code, err } = await runCommand(quietArgs, '', { TURNGRAPH_TOKEN: token });
      expect(code).toBe(1);
      expect(err).toContain(
        '--token (TURNGRAPH_TOKEN) has a line break, another control character, or spaces around it',
      );
      expect(err).not.toContain('sesame');
    },
  );

  it('names every option with its default and its variable in its help', async () => {
    const { out, code } = await runCommand(['serve', '--help']);
    expect(code).toBe(0);
    expect(out).toContain('--turn-timeout <n>');
    expect(out.replaceAll(/\s+/g, ' ')).toContain('max seconds per turn (default 120, TURNGRAPH_TURN_TIMEOUT)');
  });
});

describe('a server with many options', () => {
  const cache = join(repositoryPath('package.json'), 'cache');
  let folder = '';
  let portFile = '';
  let child: ChildProcessWithoutNullStreams;
  let end: ReturnType<typeof untilExit>;
  let firstLine = '';
  let port = 0;
  let log = '';
  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'turngraph-'));
    portFile = join(folder, 'port.json');
    const folders = ['--models', 'downloads', '--cache', cache, '--storage-root', 'models'];
    child = startCli([...mockArgs, ...folders, '--port-file', portFile, '--stdin', '--max-agents', '1'], {
      TURNGRAPH_MAX_AGENTS: '5',
      TURNGRAPH_MAX_MESSAGE_BYTES: '3',
      TURNGRAPH_TURN_TIMOUT: '5',
    });
    end = untilExit(child);
    child.stderr.on('data', (text: string) => (log += text));
    firstLine = await readFirstLine(child);
    ({ port } = JSON.parse(firstLine) as ListeningEvent);
  });
  afterAll(async () => {
    child.kill('SIGKILL');
    await rm(folder, { recursive: true });
  });

  /** Waits for a line of the log. */
  async function logged(msg: string): Promise<object> {
    for (;;) {
      const line = log.split('\n').find((each) => each.includes(`"msg":"${msg}`));
      if (line?.endsWith('}')) return JSON.parse(line) as object;
      await Promise.race([once(child.stderr, 'data'), end]);
    }
  }

  it('logs its address and its folders when it listens', async () => {
    expect(await logged('listening')).toMatchObject({
      url: `ws://127.0.0.1:${port}`,
      port,
      graphs: repositoryPath('graphs'),
      catalogue: repositoryPath('models.json'),
      models: repositoryPath('downloads'),
      cache,
      storageRoot: repositoryPath('models'),
    });
  });

  it('warns when its cache cannot be used, and starts', async () => {
    expect(await logged('no states and measurements can be saved')).toMatchObject({
      level: 40,
      cache,
      why: expect.stringMatching(/package.json.*a file is in the place of a folder/) as unknown,
      msg: 'no states and measurements can be saved; name another folder with --cache',
    });
  });

  it('warns of variables that are misspelt options', async () => {
    expect(await logged('TURNGRAPH_TURN_TIMOUT')).toMatchObject({
      level: 40,
      msg: 'TURNGRAPH_TURN_TIMOUT is no option, and is ignored; did you mean "TURNGRAPH_TURN_TIMEOUT"?',
    });
  });

  it('writes the line to the file of --port-file', async () => {
    expect((await readFile(portFile, 'utf8')).trim()).toBe(firstLine);
  });

  it('reads options from the environment, which flags override', async () => {
    await using client = await TestClient.connect(`ws://127.0.0.1:${port}`, 'turngraph.v1.json');
    const agentId = await client.createAgent(chat());
    expect(errorOf(await client.request('createAgent', { graphJson: JSON.stringify(chat()) })).code).toBe(2005);
    expect(errorOf(await client.request('sendMessage', { agentId, text: 'four' })).code).toBe(2005);
  });

  it('ends with 0 at the end of its standard input', async () => {
    child.stdin.end();
    expect((await end).code).toBe(0);
  });
});

describe('turngraph serve in the binary of a packaged Electron app', () => {
  it('finds its command after the script, as in Node', async () => {
    // Electron sets this version also where it runs as Node.
    const source = "Object.defineProperty(process, 'versions', { value: { ...process.versions, electron: '30.0.0' } })";
    const NODE_OPTIONS = `--import=data:text/javascript,${encodeURIComponent(source)}`;
    const child = startCli(quietArgs, { NODE_OPTIONS });
    const end = untilExit(child);
    const first = await Promise.race([readFirstLine(child), end]);
    expect(first).toContain('"event":"listening"');
    child.kill('SIGTERM');
    expect((await end).code).toBe(0);
  });
});
