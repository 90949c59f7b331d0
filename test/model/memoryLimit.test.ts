import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { basename, dirname, join } from 'node:path';
import { pino } from 'pino';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { connect } from '../../src/client/index.ts';
import { startTestServer, type TestServerOptions } from '../helpers/server.ts';
import { demoFile } from './demo.ts';

const megabyte = 1e6;

interface LogLine {
  readonly msg: string;
  readonly slots?: number;
  readonly note?: string;
}

/** A log that keeps its lines. */
function keepLog() {
  const lines: LogLine[] = [];
  return { lines, log: pino({ level: 'info' }, { write: (line: string) => void lines.push(JSON.parse(line)) }) };
}

describe('models within a memory limit', () => {
  let folder: string;
  let catalogue: string;

  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'turngraph-'));
    catalogue = join(folder, 'models.json');
    const variants = [{ engine: 'llama-cpp', local_path: dirname(demoFile), files: [basename(demoFile)] }];
    const models = ['first', 'second'].map((name) => ({ name, variants }));
    await writeFile(catalogue, JSON.stringify({ extends: false, models }));
  });
  afterAll(() => rm(folder, { recursive: true }));

  const start = (options: TestServerOptions) => startTestServer({ catalogue, slots: 0, ...options });

  it('are loaded one after the other where both do not fit', async () => {
    const memoryLimit = 60;
    await using server = await start({ memoryLimit });
    const client = await connect(server.url);
    const loads = await Promise.allSettled([client.loadModel('first'), client.loadModel('second')]);
    const loadedAt = loads.findIndex(({ status }) => status === 'fulfilled');
    expect(loads.map(({ status }) => status).toSorted()).toEqual(['fulfilled', 'rejected']);
    const reason: unknown = loads.flatMap((load) => (load.status === 'rejected' ? [load.reason] : []))[0];
    expect(reason).toMatchObject({
      code: 6009,
      message: expect.stringMatching(/needs \d+ MB, and \d+ MB of the 60 MB of --memory-limit are left/),
    });
    const loaded = (await client.listModels())[loadedAt];
    expect(loaded).toMatchObject({ status: 'LOADED', contextSize: 2048, vramBytes: 0 });
    expect(loaded?.slots).toBeLessThan(4);
    expect((loaded?.weightsBytes ?? NaN) + (loaded?.contextBytes ?? NaN)).toBeLessThanOrEqual(memoryLimit * megabyte);
    const metrics = await (await fetch(`${server.url.replace('ws:', 'http:')}/metrics`)).text();
    expect(metrics).toContain(`turngraph_memory_limit_bytes{memory="ram"} ${memoryLimit * megabyte}`);
    const names = ['first', 'second'];
    await client.unloadModel(names[loadedAt] ?? '');
    await client.loadModel(names[1 - loadedAt] ?? '');
    expect((await client.listModels())[1 - loadedAt]).toMatchObject({ status: 'LOADED', slots: loaded?.slots });
    await client.close();
  });

  it('make room for an agent when nobody uses them any more', async () => {
    const { lines, log } = keepLog();
    await using server = await start({ memoryLimit: 60, modelIdle: 3600, slots: 4, log });
    const client = await connect(server.url);
    const graph = (model: string) => ({
      default_model_name: model,
      start_node: 'answer',
      nodes: { answer: { type: 'Generate', params: { sampling: { max_tokens: 4 } } } },
    });
    for (const model of ['first', 'second', 'first']) {
      const agent = await client.createAgent({ graph: graph(model) });
      expect((await agent.send('Hello!')).status).toBe('SUCCESS');
      await agent.destroy();
    }
    expect((await client.listModels()).map(({ status }) => status)).toEqual(['LOADED', 'LOCAL']);
    const notes = lines.filter(({ msg }) => msg === 'a model is loaded with a limitation').map(({ note }) => note);
    expect(notes).toHaveLength(3);
    expect(notes[0]).toMatch(
      /^it has \d instead of 4 slots: the memory limit leaves no room for more; raise --memory-limit/,
    );
    await client.close();
  });

  it('have more slots while many agents speak at once, until another model needs the memory, in engine processes', async () => {
    const memoryLimit = 150;
    const { lines, log } = keepLog();
    await using server = await start({ memoryLimit, engineProcess: 'child', log });
    const client = await connect(server.url);
    const slots = async () => (await client.listModels()).map((model) => model.slots);
    const params = { sampling: { max_tokens: 8 } };
    const graph = { default_model_name: 'first', start_node: 'say', nodes: { say: { type: 'Generate', params } } };
    const agents = await Promise.all(Array.from({ length: 12 }, () => client.createAgent({ graph })));
    expect(await slots()).toEqual([4, 0]);
    const turns = await Promise.all(agents.map((agent) => agent.send('Hello!')));
    expect(new Set(turns.map(({ status }) => status))).toEqual(new Set(['SUCCESS']));
    expect(await slots()).toEqual([8, 0]);
    await client.loadModel('second');
    const [first, second] = await client.listModels();
    expect(first).toMatchObject({ status: 'LOADED', slots: 4 });
    expect(second).toMatchObject({ status: 'LOADED' });
    const bytes = [first, second].map((model) => (model?.weightsBytes ?? NaN) + (model?.contextBytes ?? NaN));
    expect((bytes[0] ?? NaN) + (bytes[1] ?? NaN)).toBeLessThanOrEqual(memoryLimit * megabyte);
    expect((await agents[0]?.send('Hello!'))?.status).toBe('SUCCESS');
    const changes = lines.filter(({ msg }) => msg === 'slots of a model changed');
    expect(changes.map((line) => line.slots)).toEqual([8, 4]);
    await client.close();
  });
});
