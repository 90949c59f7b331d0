import { spawn, type ChildProcessWithoutNullStreams } from 'node:child_process';
import { once } from 'node:events';
import { mkdir, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import { describe, expect, it, onTestFinished } from 'vitest';
import { chat } from '../helpers/graphs.ts';
import { repositoryPath, TestClient, errorOf } from '../helpers/server.ts';
import { ended, firstLine, runs, starts } from './command.ts';

interface Listening {
  readonly event: string;
  readonly port: number;
  readonly pid: number;
}

const quiet = ['serve', '--port', '0', '--json', '--log-level', 'error'];

// Opens no model as long as the port is open, so a server that preloads one is told to stop before it has it.
const slowDisk = `
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
    const child = starts(quiet);
    const end = ended(child);
    const line = JSON.parse(await firstLine(child)) as Listening;
    expect(line).toMatchObject({ event: 'listening', pid: child.pid });
    await using client = await TestClient.connect(`ws://127.0.0.1:${line.port}`, 'turngraph.v1.json');
    expect(await client.sendMessage(await client.createAgent(chat()), 'hello')).toMatchObject({
      text: 'You said: hello',
    });
    child.kill('SIGTERM');
    expect((await client.closed).code).toBe(1001);
    expect(await end).toMatchObject({ code: 0, out: expect.stringMatching(/^[^\n]*\n$/) as unknown });
  });

  it('ends also when it has logged more than anybody reads', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'turngraph-'));
    const catalogue = join(folder, 'models.json');
    const broken = Array.from({ length: 3000 }, (_, index) => ({ name: `broken-${index}`, variants: [] }));
    await writeFile(catalogue, JSON.stringify({ models: broken }));
    const child = starts(['serve', '--port', '0', '--json', '--log-level', 'warn', '--catalogue', catalogue]);
    const end = once(child, 'exit');
    await firstLine(child);
    child.kill('SIGTERM');
    expect(await end).toEqual([0, null]);
    await rm(folder, { recursive: true });
  });

  it('writes the line to a file for those who cannot read it', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'turngraph-'));
    const portFile = join(folder, 'port.json');
    const child = starts([...quiet, '--port-file', portFile, '--stdin']);
    const end = ended(child);
    const line = await firstLine(child);
    expect((await readFile(portFile, 'utf8')).trim()).toBe(line);
    child.stdin.end();
    expect((await end).code).toBe(0);
    await rm(folder, { recursive: true });
  });

  it.each([
    ['there is no folder', 'nodir', 'port.json', 'there is no folder '],
    ['the file is a folder', '.', 'folder', 'it is a folder'],
    ['a file is in the place of the folder', 'file', 'port.json', 'there is no folder '],
  ])('ends with a sentence when the line has no place because %s', async (_, place, name, why) => {
    const folder = await mkdtemp(join(tmpdir(), 'turngraph-'));
    await mkdir(join(folder, 'folder'));
    await writeFile(join(folder, 'file'), '');
    const portFile = join(folder, place, name);
    const { code, out, err } = await runs([...quiet, '--port-file', portFile]);
    expect({ code, out }).toEqual({ code: 1, out: '' });
    expect(err).toMatch(/^error: --port-file [^\n]+\n$/);
    expect(err).toContain(`${portFile} cannot be written: ${why}`);
    expect((await readdir(folder)).sort()).toEqual(['file', 'folder']);
    await rm(folder, { recursive: true });
  });

  it('ends when the line cannot be written any more once it listens', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'turngraph-'));
    const portFile = join(folder, 'place', 'port.json');
    await mkdir(join(folder, 'place'));
    // An extension is loaded after the options have been checked, and before the server listens.
    const slow = join(folder, 'slow.mjs');
    const remove = `rmSync(${JSON.stringify(join(folder, 'place'))}, { recursive: true })`;
    await writeFile(slow, `import { rmSync } from 'node:fs';\n${remove};\nexport const nodeTypes = [];\n`);
    const { code, out, err } = await runs([...quiet, '--port-file', portFile, '--extend', slow]);
    expect({ code, out }).toEqual({ code: 1, out: '' });
    expect(err).toContain(`error: --port-file ${portFile} cannot be written: there is no folder `);
    await rm(folder, { recursive: true });
  });

  it.each(['--models', '--graphs', '--storage-root'])('ends with a sentence when %s is a file', async (flag) => {
    const { code, out, err } = await runs([...quiet, flag, repositoryPath('package.json')]);
    expect({ code, out, err }).toEqual({
      code: 1,
      out: '',
      err: `error: ${flag} ${repositoryPath('package.json')}: a file is in the place of that folder\n`,
    });
  });

  it('warns when its cache cannot be used, and serves all the same', async () => {
    const child = starts([...quiet.slice(0, -1), 'warn', '--cache', join(repositoryPath('package.json'), 'cache')]);
    const end = ended(child);
    await firstLine(child);
    child.kill('SIGTERM');
    const { code, err } = await end;
    expect(code).toBe(0);
    expect(JSON.parse(err)).toMatchObject({
      cache: join(repositoryPath('package.json'), 'cache'),
      why: expect.stringMatching(/package.json.*a file is in the place of a folder/) as unknown,
      msg: 'no states and measurements can be saved; name another folder with --cache',
    });
  });

  it('ends with its parent', async () => {
    const parent = spawn(process.execPath, ['-e', 'setInterval(() => {}, 1000)']);
    const child = starts([...quiet.slice(0, -1), 'warn', '--parent-pid', String(parent.pid)]);
    const end = ended(child);
    await firstLine(child);
    parent.kill();
    const { code, err } = await end;
    expect(code).toBe(0);
    expect(JSON.parse(err)).toMatchObject({ msg: `process ${parent.pid} has ended, so the server stops` });
  });

  it.each([
    ['SIGTERM', (child: ChildProcessWithoutNullStreams): unknown => child.kill('SIGTERM')],
    ['the end of its standard input', (child: ChildProcessWithoutNullStreams): unknown => child.stdin.end()],
  ])('ends in order on %s also before its line has come, while it preloads a model', async (_, stop) => {
    const folder = await mkdtemp(join(tmpdir(), 'turngraph-'));
    await writeFile(join(folder, 'slow.mjs'), slowDisk);
    const args = [...quiet.slice(0, -1), 'info', '--stdin', '--extend', join(folder, 'slow.mjs')];
    const child = starts([...args, '--preload', 'turngraph-demo']);
    onTestFinished(() => void child.kill('SIGKILL'));
    const end = ended(child);
    const [log] = (await once(child.stderr, 'data')) as [string];
    const { port } = JSON.parse(log.split('\n')[0] ?? '') as Listening;
    await using client = await TestClient.connect(`ws://127.0.0.1:${port}`, 'turngraph.v1.json');
    expect(await client.sendMessage(await client.createAgent(chat()), 'hello')).toMatchObject({
      text: 'You said: hello',
    });
    stop(child);
    expect((await client.closed).code).toBe(1001);
    expect(await end).toMatchObject({ code: 0, out: '', err: expect.stringContaining('shutting down') as unknown });
    await rm(folder, { recursive: true });
  });

  it('ends on SIGTERM also while an extension is still being loaded', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'turngraph-'));
    const endless = join(folder, 'endless.mjs');
    await writeFile(
      endless,
      `process.stderr.write('loading');\nawait new Promise(() => setInterval(() => {}, 1000));\n`,
    );
    const child = starts([...quiet, '--extend', endless]);
    onTestFinished(() => void child.kill('SIGKILL'));
    const end = ended(child);
    await once(child.stderr, 'data');
    child.kill('SIGTERM');
    expect(await end).toEqual({ code: 0, out: '', err: 'loading' });
    await rm(folder, { recursive: true });
  });

  it('ends when it cannot start, also where the standard input that it would end with stays open', async () => {
    const child = starts([...quiet, '--stdin', '--models', repositoryPath('package.json')]);
    onTestFinished(() => void child.kill('SIGKILL'));
    expect(await ended(child)).toMatchObject({ code: 1, out: '' });
  });

  it('dies of a second SIGINT while turns are still going on', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'turngraph-'));
    const script = join(folder, 'mock.json');
    await writeFile(script, '[{"match": "wait", "answer": "late", "delay_ms": 86400000}]');
    const child = starts([...quiet, '--mock-script', script]);
    const end = ended(child);
    const { port } = JSON.parse(await firstLine(child)) as Listening;
    const client = await TestClient.connect(`ws://127.0.0.1:${port}`, 'turngraph.v1.json');
    const agentId = await client.createAgent(chat());
    client.send('sendMessage', { agentId, text: 'wait' });
    child.kill('SIGINT');
    const more = async (): Promise<number> =>
      errorOf(await client.request('sendMessage', { agentId, text: 'more' })).code;
    while ((await more()) !== 2001) await wait(10);
    child.kill('SIGINT');
    expect((await end).code).toBe(130);
    await client.closed;
    await rm(folder, { recursive: true });
  });

  it('takes its options from the environment, and flags go before', async () => {
    const child = starts([...quiet, '--max-agents', '1'], {
      TURNGRAPH_MAX_AGENTS: '5',
      TURNGRAPH_MAX_MESSAGE_BYTES: '3',
    });
    const end = ended(child);
    const { port } = JSON.parse(await firstLine(child)) as Listening;
    await using client = await TestClient.connect(`ws://127.0.0.1:${port}`, 'turngraph.v1.json');
    const agentId = await client.createAgent(chat());
    expect(errorOf(await client.request('createAgent', { graphJson: JSON.stringify(chat()) })).code).toBe(2005);
    expect(errorOf(await client.request('sendMessage', { agentId, text: 'four' })).code).toBe(2005);
    child.kill();
    await end;
  });

  it.each([
    ['a port that is no number', ['--port', 'x'], {}, '--port (TURNGRAPH_PORT) must be an integer, not "x"'],
    ['a port out of range', [], { TURNGRAPH_PORT: '70000' }, '--port (TURNGRAPH_PORT) must be <= 65535, not 70000'],
    ['a flag with a typo', ['--prot', '1'], {}, "unknown option '--prot'"],
    ['a choice that is none', ['--gpu', 'maybe'], {}, 'Allowed choices are auto, off'],
  ])('refuses %s with exit code 2', async (_, args, env, message) => {
    const { code, err, out } = await runs(['serve', ...args], '', env);
    expect({ code, out }).toEqual({ code: 2, out: '' });
    expect(err).toContain(message);
  });

  it('ends at once when there is no model of a name to preload, and loads no other to its end before', async () => {
    const models = ['turngraph-demo', 'turngraph-dmeo'];
    const { code, out, err } = await runs(['serve', '--port', '0', '--preload', ...models]);
    expect({ code, out }).toEqual({ code: 1, out: '' });
    expect(err).toContain('the catalogue has no model "turngraph-dmeo"; did you mean "turngraph-demo"?');
    expect(err).not.toContain('a model is loaded');
  });

  it('refuses to be open to the network without a token', async () => {
    const { code, err } = await runs([...quiet, '--host', '0.0.0.0']);
    expect(code).toBe(1);
    expect(err).toContain('--host 0.0.0.0 can be reached from other machines: set --token or TURNGRAPH_TOKEN');
  });

  it('names every option with its default and its variable in its help', async () => {
    const { out, code } = await runs(['serve', '--help']);
    expect(code).toBe(0);
    expect(out).toContain('--turn-timeout <n>');
    expect(out.replaceAll(/\s+/g, ' ')).toContain('max seconds per turn (default 120, TURNGRAPH_TURN_TIMEOUT)');
  });
});
