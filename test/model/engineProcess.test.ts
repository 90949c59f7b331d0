import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, readdir, rm, writeFile } from 'node:fs/promises';
import { getPriority, tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { beforeAll, describe, expect, it } from 'vitest';
import type { LoadOptions, Model } from '../../src/inference/contract/engine.ts';
import { generate, longText, nextPrompt, userPrompt } from '../contracts/generation.ts';
import { isRunning, prioritiesOf, whenEnded } from '../helpers/runningProcesses.ts';
import { repositoryPath } from '../helpers/server.ts';
import { demoFile } from './demo.ts';
import { useProcessEngine } from './processEngineRig.ts';

const options: LoadOptions = { contextSize: 1024, slots: 2, threads: 1, gpu: 'off' };
const story = 'Tell me a long story about the sea, the wind and the old house.';
// A grammar forces an answer that no machine completes before a signal arrives.
const neverEnding = {
  sampling: { max_tokens: 900 },
  grammar: {
    kind: 'full',
    rule: {
      kind: 'many',
      rule: { kind: 'many', rule: { kind: 'char', ranges: [[0x61, 0x7a]] }, min: 200, max: 200 },
      separator: ' ',
      min: 20,
    },
  },
} as const;

/** Sends a signal to the process of the model once its generation has emitted text. */
async function generateAndSignal(model: Model, pid: number, signal: NodeJS.Signals): Promise<unknown> {
  let sent = false;
  const onText = (): void => {
    if (!sent) process.kill(pid, signal);
    sent = true;
  };
  const generation = generate(model.openSequence(), userPrompt(story), { ...neverEnding, onText });
  return generation.catch((error: unknown) => error);
}

describe('a model in an engine process', () => {
  const rig = useProcessEngine(true);
  let model: Model;
  let [prepared, used]: (readonly number[])[] = [];
  beforeAll(async () => {
    await rig.engine[Symbol.asyncDispose]();
    rig.engine = rig.open({ cache: { folder: rig.folder, maxStateBytes: 1e9 } });
    rig.engine.prepare('off');
    prepared = [...rig.pids];
    model = await rig.engine.load(demoFile, options);
    used = [...rig.pids];
  });

  it('uses the process that was prepared, whose threads have the priority of the server', () => {
    expect(prepared).toHaveLength(1);
    expect(used).toEqual(prepared);
    expect(new Set(prioritiesOf(rig.lastPid()))).toEqual(new Set([getPriority()]));
  });

  it('continues its dialogs in a new process after a crash', async () => {
    const sequence = model.openSequence();
    const first = await generate(sequence, userPrompt('How are you today?'));
    const prompt = nextPrompt(userPrompt('How are you today?'), first.text, 'Tell me a joke');
    const expected = await generate(model.openSequence(), prompt);
    expect(await generateAndSignal(model, rig.lastPid(), 'SIGSEGV')).toMatchObject({
      name: 'ENGINE_CRASHED',
      message: expect.stringContaining('SIGSEGV'),
    });
    const { text, tokens } = await generate(sequence, prompt);
    expect({ text, reused: tokens.reused }).toEqual({ text: expected.text, reused: 0 });
    expect(rig.crashes).toMatchObject([{ file: demoFile, count: 1, end: { reason: 'crash' } }]);
    model.supervision?.turnFinished();
  });

  it('is loaded again at once, and leaves no state files, when its process is killed while it is idle', async () => {
    const [count = 0] = await model.count(['lamp']);
    const sequences = Array.from({ length: 3 }, () => model.openSequence());
    // On the fastest disk and the slowest machine alike some state is written before long.
    const files = async (): Promise<readonly string[]> =>
      (await readdir(join(rig.folder, 'states'), { recursive: true })).filter((name) => name.endsWith('.state'));
    for (let round = 0; round < 20 && model.stats().statesSaved === 0; round++) {
      for (const sequence of sequences) await generate(sequence, userPrompt(`${longText(40)} ${round}`));
    }
    const { statesSaved } = model.stats();
    const killed = rig.lastPid();
    process.kill(killed, 'SIGKILL');
    await whenEnded(killed);
    expect(await model.count(['lamp'])).toEqual([count]);
    expect(rig.lastPid()).not.toBe(killed);
    expect(await files()).toEqual([]);
    // Counters do not fall when the process is another one.
    expect(model.stats()).toMatchObject({ statesSaved, stateBytes: 0 });
    for (const sequence of sequences) await sequence[Symbol.asyncDispose]();
  });

  it('fails a scoring that its crash interrupts, and gives the same scores in a new process', async () => {
    await using sequence = model.openSequence();
    const signal = new AbortController().signal;
    const score = (answers: readonly string[]) => sequence.score(userPrompt('Two beers, please.'), answers, { signal });
    const { scores } = await score(['order', 'chat']);
    // Too many to be scored before the process is killed.
    const scoring = score(Array.from({ length: 2000 }, (_, index) => `label ${index}`)).catch(
      (error: unknown) => error,
    );
    await model.count(['']);
    process.kill(rig.lastPid(), 'SIGKILL');
    expect(await scoring).toMatchObject({ name: 'ENGINE_CRASHED' });
    expect((await score(['order', 'chat'])).scores).toEqual(scores);
  });

  it('ends its process when it is unloaded, and refuses to count then', async () => {
    const crashes = rig.crashes.length;
    await model[Symbol.asyncDispose]();
    expect(isRunning(rig.lastPid())).toBe(false);
    await expect(model.count(['lamp'])).rejects.toMatchObject({
      name: 'INFERENCE_FAILED',
      message: expect.stringContaining('unloaded'),
    });
    expect(rig.crashes).toHaveLength(crashes);
  });
});

describe('the load of a model in an engine process', () => {
  const rig = useProcessEngine();

  it('ends its process when its load is aborted', async () => {
    const abort = new AbortController();
    const loading = rig.engine.load(demoFile, { ...options, signal: abort.signal });
    const pid = rig.lastPid();
    abort.abort();
    await expect(loading).rejects.toMatchObject({
      name: 'MODEL_LOAD_FAILED',
      message: expect.stringContaining('cancelled'),
    });
    expect(isRunning(pid)).toBe(false);
    expect(rig.crashes).toEqual([]);
  });

  it('does not use a prepared process that has ended since, and names its file when the next one crashes', async () => {
    rig.engine.prepare('off');
    process.kill(rig.lastPid(), 'SIGKILL');
    await whenEnded(rig.lastPid());
    const loading = rig.engine.load(demoFile, { ...options, onProgress: () => process.kill(rig.lastPid(), 'SIGSEGV') });
    await expect(loading).rejects.toMatchObject({
      name: 'MODEL_LOAD_FAILED',
      message: expect.stringMatching(/turngraph-demo\.gguf cannot be loaded: .*SIGSEGV.*damaged/),
    });
    expect(rig.pids).toHaveLength(2);
  });
});

describe('a supervised model in an engine process', () => {
  const rig = useProcessEngine();

  it('ends what waits for a process that is stopped, and continues in a new one', async () => {
    await rig.engine[Symbol.asyncDispose]();
    rig.engine = rig.open({ watchdog: { tickMs: 100, minHangMs: 5000, unmeasuredHangMs: 60_000 } });
    const model = await rig.engine.load(demoFile, options);
    expect(await generateAndSignal(model, rig.lastPid(), 'SIGSTOP')).toMatchObject({
      name: 'ENGINE_CRASHED',
      message: expect.stringContaining('did not answer'),
    });
    expect(rig.crashes).toMatchObject([{ end: { reason: 'hang' } }]);
    expect((await generate(model.openSequence(), userPrompt('How are you today?'))).finishReason).toBe('end');
  });
});

describe('an engine process', () => {
  // Loaded into the engine process before its own code: holds its event loop once it has reported that the weights are
  // loaded.
  const holdEventLoop = `
    const send = process.send?.bind(process);
    if (send) process.send = (message, ...rest) => {
      const sent = send(message, ...rest);
      if (/\\["event",\\d+,1\\]/.test(JSON.stringify(message))) setTimeout(() => { for (;;); }, 100);
      return sent;
    };
  `;

  it('ends with its server process, also while it is blocked', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'turngraph-'));
    const preload = join(folder, 'hold.mjs');
    await writeFile(preload, holdEventLoop);
    const script = `
      import { ProcessEngine } from ${JSON.stringify(repositoryPath('dist/inference/process/engine.js'))};
      const engine = new ProcessEngine({ onStart: (pid) => console.log(pid) });
      const options = ${JSON.stringify(options)};
      const onProgress = (at) => at === 1 && console.log('loaded');
      await engine.load(${JSON.stringify(demoFile)}, { ...options, onProgress });
      setInterval(() => {}, 1000);
    `;
    const server = spawn(process.execPath, ['--input-type=module', '-e', script], {
      stdio: ['ignore', 'pipe', 'inherit'],
      env: { ...process.env, NODE_OPTIONS: `${process.env['NODE_OPTIONS'] ?? ''} --import ${pathToFileURL(preload)}` },
    });
    let output = '';
    for await (const text of server.stdout.setEncoding('utf8')) {
      output += String(text);
      if (output.includes('loaded')) break;
    }
    const pid = Number.parseInt(output, 10);
    expect(isRunning(pid)).toBe(true);
    server.kill('SIGKILL');
    await once(server, 'close');
    await whenEnded(pid);
    await rm(folder, { recursive: true });
  });
});
