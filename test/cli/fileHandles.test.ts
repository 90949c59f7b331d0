import { spawn } from 'node:child_process';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { createConnection, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { basename, dirname, join } from 'node:path';
import { text } from 'node:stream/consumers';
import { setTimeout as wait } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import { isSkipped } from '../helpers/requirements.mjs';
import { repositoryPath, TestClient } from '../helpers/server.ts';
import { readFirstLine, startCliWithFileHandles, untilExit } from './command.ts';

describe.skipIf(isSkipped('fileHandles'))('a server with few file handles', () => {
  it.each([24, 40, 60, 110, 150])('ends with an error when it may open %d', async (count) => {
    const child = startCliWithFileHandles(count, ['serve', '--port', '0', '--json']);
    child.stdin.end();
    expect(await untilExit(child)).toEqual({
      code: 1,
      out: '',
      err: 'error: fewer than 192 file handles are free; allow this process more, with "ulimit -n 1024"\n',
    });
  });

  it('accepts no more connections than it has handles, keeps running, and accepts them later', async () => {
    const limits = ['--max-connections', '1000', '--engine-process', 'in'];
    const args = ['serve', '--port', '0', '--json', '--log-level', 'silent', ...limits];
    const child = startCliWithFileHandles(256, args);
    const end = untilExit(child);
    const { port } = JSON.parse(await readFirstLine(child)) as { readonly port: number };
    const sockets = Array.from({ length: 400 }, () => createConnection(port, '127.0.0.1').on('error', () => undefined));
    const isOpen = (socket: Socket): boolean => !socket.destroyed;
    sockets.forEach((socket) => socket.on('end', () => socket.destroy()));
    while (sockets.every(isOpen)) await wait(20);
    sockets.forEach((socket) => socket.destroy());
    const url = `ws://127.0.0.1:${port}`;
    for (;;) {
      const client = new TestClient(url, 'turngraph.v1.json');
      if (await client.receive('sessionReady').catch(() => undefined)) {
        expect(await client.request('listModels')).toMatchObject({ body: 'listModels' });
        await client[Symbol.asyncDispose]();
        break;
      }
    }
    expect(child.exitCode).toBeNull();
    child.kill('SIGTERM');
    expect((await end).code).toBe(0);
  });

  it('says which request lacks one, loses no session, and answers the same requests later', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'turngraph-'));
    const file = repositoryPath('models/turngraph-demo.gguf');
    const variants = [{ engine: 'llama-cpp', local_path: dirname(file), files: [basename(file)] }];
    const catalogue = join(folder, 'models.json');
    await writeFile(catalogue, JSON.stringify({ extends: false, models: [{ name: 'demo', variants }] }));
    for (let count = 0; count < 300; count++) await writeFile(join(folder, `words-${count}.txt`), 'one\ntwo\n');
    const flags = { port: '0', catalogue, 'storage-root': folder, cache: folder, 'max-connections': '1000' };
    // In the process of the server: an engine process that was started before has handles of its own.
    const limits = {
      'engine-process': 'in',
      'max-connection-rate': '100000',
      'handshake-timeout': '600',
      'log-level': 'silent',
    };
    const args = Object.entries({ ...flags, ...limits }).flatMap(([flag, value]) => [`--${flag}`, value]);
    const child = startCliWithFileHandles(256, ['serve', '--json', ...args]);
    const end = untilExit(child);
    const { port } = JSON.parse(await readFirstLine(child)) as { readonly port: number };
    await using client = await TestClient.connect(`ws://127.0.0.1:${port}`, 'turngraph.v1.json', 'llama-cpp');
    let names = 0;
    const readStorage = async (): Promise<string> => {
      const name = `words-${names++ % 300}`;
      const filePath = `${name}.txt`;
      const answer = await client.request('createStringStorage', { name: `n${names}`, kind: 'LIST', filePath });
      return answer.body === 'error' ? answer.error.message : 'read';
    };
    const sockets: Socket[] = [];
    while ((await readStorage()) === 'read')
      for (let count = 0; count < 40; count++)
        sockets.push(createConnection(port, '127.0.0.1').on('error', () => undefined));
    expect(await readStorage()).toContain('too many files are open (EMFILE)');
    const agent = { graphName: 'lamp-switch', defaultModelName: 'demo' };
    expect(await client.request('createAgent', agent)).toMatchObject({
      error: { message: expect.stringContaining('too many files are open (EMFILE)') as string },
    });
    expect(await client.request('loadModel', { modelName: 'demo' })).toMatchObject({ error: { code: 6009 } });
    sockets.forEach((socket) => socket.destroy());
    while ((await readStorage()) !== 'read') await wait(20);
    expect(await client.request('loadModel', { modelName: 'demo' })).toMatchObject({ body: 'loadModel' });
    const agentId = await client.createAgent('lamp-switch', { defaultModelName: 'demo' });
    expect(await client.sendMessage(agentId, 'Turn on the porch light.')).toMatchObject({ status: 'SUCCESS' });
    child.kill('SIGTERM');
    expect((await end).code).toBe(0);
    await rm(folder, { recursive: true });
  }, 120_000);

  it('loads a model once it has the handles that an engine process needs', async () => {
    const script = `
      import { closeSync, openSync } from 'node:fs';
      import { ProcessEngine } from ${JSON.stringify(repositoryPath('dist/inference/process/engine.js'))};
      const engine = new ProcessEngine({ onCrash: () => console.log('crash') });
      const options = { contextSize: 1024, slots: 2, threads: 1, gpu: 'off' };
      const load = () => engine.load(${JSON.stringify(repositoryPath('models/turngraph-demo.gguf'))}, options);
      const handles = [];
      try { for (;;) handles.push(openSync('/dev/null')); } catch {}
      const errors = [];
      for (let attempt = 1; attempt <= 4; attempt++) errors.push(await load().catch(({ name }) => name));
      for (const handle of handles) closeSync(handle);
      console.log(errors.join(' '));
      console.log((await load()).contextSize);
      await engine[Symbol.asyncDispose]();
    `;
    const command = 'ulimit -n 300 && exec "$0" --input-type=module -e "$1"';
    const child = spawn('sh', ['-c', command, process.execPath, script], { stdio: ['ignore', 'pipe', 'inherit'] });
    expect(await text(child.stdout)).toBe(`${'MODEL_LOAD_FAILED '.repeat(4).trim()}\n1024\n`);
  });
});
