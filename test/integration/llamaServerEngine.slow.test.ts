import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { basename, dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, afterEach, beforeAll, describe, expect, it, vi } from 'vitest';
import { connect } from '../../src/client/index.ts';
import { all, any, text } from '../../src/chat/grammar/rule.ts';
import type { LoadOptions } from '../../src/inference/contract/engine.ts';
import { LlamaServerEngine, type LlamaServerOptions } from '../../src/inference/llamaServer/engine.ts';
import { readGguf } from '../../src/inference/llama/gguf/validateFile.ts';
import type { EngineCrash } from '../../src/inference/process/supervisor.ts';
import { loraGguf } from '../../scripts/gguf/lora.mjs';
import { engineContract } from '../contracts/engine.ts';
import { generate, longText, userPrompt } from '../contracts/generation.ts';
import { startLlamaServer, type TestLlamaServer } from '../helpers/inference/llamaServer.ts';
import { isSkipped } from '../helpers/requirements.mjs';
import { isRunning, whenEnded } from '../helpers/runningProcesses.ts';
import { startTestServer } from '../helpers/server.ts';
import { demoFile } from '../model/demo.ts';

// The binary is one that passes requests on to a server in this process, or the real one that the variable names.
const realBinary = process.env['TURNGRAPH_TEST_LLAMA_SERVER'];
const forwarder = fileURLToPath(new URL('../helpers/inference/llamaServerBinary.mjs', import.meta.url));
const binary = realBinary ?? forwarder;
const options: LoadOptions = { contextSize: 1024, slots: 2, threads: 1, gpu: 'off' };

let server: TestLlamaServer;
beforeAll(async () => {
  server = await startLlamaServer();
  vi.stubEnv('TURNGRAPH_TEST_FORWARD', server.url);
});
afterAll(async () => {
  vi.unstubAllEnvs();
  await server[Symbol.asyncDispose]();
});

const engines: LlamaServerEngine[] = [];
const pids: number[] = [];
const crashes: EngineCrash[] = [];
afterEach(async () => {
  for (const engine of engines.splice(0)) await engine[Symbol.asyncDispose]();
  for (const pid of pids.splice(0)) await whenEnded(pid);
  crashes.length = 0;
});

function openEngine(more: Partial<LlamaServerOptions> = {}): LlamaServerEngine {
  const engine = new LlamaServerEngine({
    binary,
    onStart: (pid) => void pids.push(pid),
    onCrash: (crash) => void crashes.push(crash),
    ...more,
  });
  engines.push(engine);
  return engine;
}

const kill = async (): Promise<void> => {
  const pid = pids.at(-1) ?? 0;
  process.kill(pid, 'SIGKILL');
  await whenEnded(pid);
};

// Its binary is a script with the path of Node in its first line.
describe.skipIf(isSkipped('ownLlamaServer'))('a model in a llama-server that this server starts', () => {
  it('generates, counts, and says what it takes', async () => {
    const model = await openEngine().load(demoFile, options);
    await using sequence = model.openSequence();
    const { text: said } = await generate(sequence, userPrompt('Hello!'), { sampling: { max_tokens: 8 } });
    expect(said).not.toBe('');
    expect(await model.count(['lamp'])).toEqual([expect.any(Number)]);
    const { backend, memory } = model.stats();
    expect(backend).toBe('llama-server');
    expect(Math.min(memory.weights.ram, memory.context.ram)).toBeGreaterThan(100_000);
  });

  it('has one KV cache for all where no slots are asked for, and gives room in it', async () => {
    const model = await openEngine().load(demoFile, { ...options, slots: 0 });
    const { memory, slots } = model.stats();
    const asked = await openEngine().load(demoFile, options);
    expect(memory.context.ram * 2).toBe(asked.stats().memory.context.ram);
    const prompt = userPrompt(`${longText(36)}Tell me a long story about the sea, the wind and the old house.`);
    const talk = async (): Promise<string> => {
      await using sequence = model.openSequence();
      const sampling = { max_tokens: 120, temperature: 3, seed: 3 };
      return (await generate(sequence, prompt, { sampling })).text;
    };
    server.log.mostCells = 0;
    const texts = await Promise.all(Array.from({ length: slots + 1 }, talk));
    expect(Math.min(...texts.map((each) => each.length))).toBeGreaterThan(60);
    if (!realBinary) expect(server.log.mostCells).toBeGreaterThan(900);
    expect(server.log.mostCells).toBeLessThanOrEqual(1024);
  });

  it('gives the KV cache of a slow turn to others while it waits', async () => {
    const model = await openEngine().load(demoFile, { ...options, slots: 0 });
    const ended: string[] = [];
    const talk = async (name: string, max_tokens_per_second: number, onText?: () => void): Promise<void> => {
      await using sequence = model.openSequence();
      const sampling = { max_tokens: 900, max_tokens_per_second };
      await generate(sequence, userPrompt('Hello!'), { sampling, ...(onText && { onText }) });
      ended.push(name);
    };
    let slow: Promise<void> = Promise.resolve();
    await new Promise<void>((resolve) => (slow = talk('slow', 4, resolve)));
    await Promise.all([slow, talk('quick', 0)]);
    expect(ended).toEqual(['quick', 'slow']);
  });

  it('goes on with a strict answer once the server has ended the part before it', async () => {
    const model = await openEngine().load(demoFile, { ...options, slots: 0 });
    await using sequence = model.openSequence();
    server.log.mostCells = 0;
    const light = all(text('the lamp is '), any(text('red'), text('green')), text(' and '));
    const { text: said } = await generate(sequence, userPrompt(longText(60)), {
      grammar: { kind: 'full', rule: all(light, light, light) },
    });
    expect(said).toMatch(/^(the lamp is (red|green) and ){3}$/);
    expect(server.log.mostCells).toBeLessThanOrEqual(1024);
  });

  it('ends with the model', async () => {
    const model = await openEngine().load(demoFile, options);
    const [pid = 0] = pids;
    expect(isRunning(pid)).toBe(true);
    await model[Symbol.asyncDispose]();
    expect(isRunning(pid)).toBe(false);
  });

  it('is started again after a crash, and given up after three without a finished turn', async () => {
    const model = await openEngine().load(demoFile, options);
    for (let count = 1; count <= 3; count++) {
      expect(model.supervision?.fault).toBeUndefined();
      expect(await model.count([`lamp ${count}`])).toEqual([expect.any(Number)]);
      await kill();
      await expect.poll(() => crashes.length).toBe(count);
    }
    expect(crashes.at(-1)).toMatchObject({ file: demoFile, count: 3 });
    await expect(model.count(['a lamp'])).rejects.toMatchObject({
      message: expect.stringContaining('crashed 3 times'),
    });
    await model.supervision?.restart({});
    expect(await model.count(['the lamp'])).toEqual([expect.any(Number)]);
  });

  it('is started again where a restart has failed, and given up after three', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'turngraph-'));
    const obstacle = join(folder, 'obstacle');
    const load = { ...options, serverArgs: ['--unless', obstacle] };
    const model = await openEngine({ binary: forwarder }).load(demoFile, load);
    await writeFile(obstacle, '');
    await kill();
    await expect.poll(() => crashes.length).toBe(3);
    await expect(model.count(['a lamp'])).rejects.toMatchObject({
      message: expect.stringContaining('crashed 3 times'),
    });
    await rm(folder, { recursive: true });
    await model.supervision?.restart({});
    expect(await model.count(['the lamp'])).toEqual([expect.any(Number)]);
  });

  it.each([
    ['there is no such binary', { binary: '/no/such/llama-server' }, {}, 'ENOENT'],
    ['the binary refuses an argument', {}, { serverArgs: ['--wrong'] }, 'invalid argument: --wrong'],
    ['it is an embedding model', {}, { purpose: 'embedding' }, 'computes no embeddings'],
  ] as const)('cannot be loaded where %s', async (_title, engine, load, message) => {
    await expect(openEngine(engine).load(demoFile, { ...options, ...load })).rejects.toMatchObject({
      name: 'MODEL_LOAD_FAILED',
      message: expect.stringContaining(message),
    });
  });

  describe('with LoRA adapters', () => {
    let folder: string;
    let loras: { readonly file: string; readonly scale: number }[];
    beforeAll(async () => {
      folder = await mkdtemp(join(tmpdir(), 'turngraph-'));
      const { header } = await readGguf(demoFile);
      const changed = header.tensors.filter(({ name }) => name.endsWith('.attn_q.weight'));
      const tensors = Object.fromEntries(changed.map(({ name, dimensions }) => [name, dimensions]));
      const bytes = loraGguf({ architecture: String(header.values.get('general.architecture')), tensors });
      // A colon is in each path on Windows.
      loras = [
        { file: join(folder, 'C:wizard.gguf'), scale: 1 },
        { file: join(folder, 'old, "loud".gguf'), scale: -0.5 },
      ];
      for (const { file } of loras) await writeFile(file, bytes);
    });
    afterAll(() => rm(folder, { recursive: true }));

    it('has them whatever is in their paths, and counts them as memory', async () => {
      const plain = await openEngine().load(demoFile, options);
      const model = await openEngine().load(demoFile, { ...options, loras });
      const sizes = await Promise.all(loras.map(async ({ file }) => (await stat(file)).size));
      const weights = plain.stats().memory.weights.ram + sizes.reduce((sum, size) => sum + size, 0);
      expect(model.stats().memory.weights.ram).toBe(weights);
    });

    it('names them in one argument, and gives their scales at each start', async () => {
      const engine = openEngine({ binary: forwarder });
      const failing = engine.load(demoFile, { ...options, loras, serverArgs: ['--wrong'] });
      const list = `--lora ${loras[0]?.file},"${join(folder, 'old, ""loud"".gguf')}" `;
      await expect(failing).rejects.toMatchObject({ message: expect.stringContaining(list) });
      const model = await engine.load(demoFile, { ...options, loras });
      await kill();
      expect(await model.count(['a lamp'])).toEqual([expect.any(Number)]);
      const scales = [
        { id: 0, scale: 1 },
        { id: 1, scale: -0.5 },
      ];
      expect(server.log.loraScales.slice(-2)).toEqual([scales, scales]);
    });

    it('is refused where one does not fit', async () => {
      const wrong = openEngine().load(demoFile, { ...options, loras: [{ file: demoFile, scale: 1 }] });
      await expect(wrong).rejects.toMatchObject({ message: expect.stringContaining('it is no LoRA adapter') });
    });
  });

  it('does not outlive a server that is killed', async () => {
    const script = `
      import { LlamaServerEngine } from ${JSON.stringify(join(process.cwd(), 'dist/inference/llamaServer/engine.js'))};
      const engine = new LlamaServerEngine({ binary: ${JSON.stringify(binary)}, onStart: (pid) => console.log(pid) });
      await engine.load(${JSON.stringify(demoFile)}, ${JSON.stringify(options)});
      process.kill(process.pid, 'SIGKILL');
    `;
    const owner = spawn(process.execPath, ['--input-type=module', '-e', script], {
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    const [line] = (await once(owner.stdout, 'data')) as [Buffer];
    await once(owner, 'exit');
    await whenEnded(Number(line.toString()));
  });

  it.each(['llama-cpp', 'llama-server'])('serves turns and strict calls of a variant for %s', async (engine) => {
    const folder = await mkdtemp(join(tmpdir(), 'turngraph-'));
    const variant = { engine, local_path: dirname(demoFile), files: [basename(demoFile)], context_size: 1024 };
    const catalogue = join(folder, 'models.json');
    await writeFile(catalogue, JSON.stringify({ models: [{ name: 'turngraph-demo', variants: [variant] }] }));
    const llamaServer = engine === 'llama-cpp' ? binary : '';
    const settings = { catalogue, llamaServer, mockScript: '', engines: { 'llama-server': openEngine() } };
    await using turngraph = await startTestServer(settings);
    await using client = await connect(turngraph.url);
    const agent = await client.createAgent({ graphName: 'lamp-switch' });
    await agent.changeParams('detect', { strict: true, tool_choice: 'required' });
    const names: string[] = [];
    await agent.send('Turn on the kitchen lamp.', { onCall: ({ toolName }) => names.push(toolName) }).done;
    expect(names).toEqual(['set_light']);
    expect(pids).toHaveLength(1);
    await rm(folder, { recursive: true });
  });
});

describe.skipIf(isSkipped('realLlamaServer'))('the real llama-server', () => {
  engineContract({
    name: 'llama-server',
    open: () => new LlamaServerEngine({ binary }),
    file: demoFile,
    long: 'Tell me a long story about the sea, the wind and the old house.',
    rounds: 4,
  });
});
