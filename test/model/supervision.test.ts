import { cp, rename, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { beforeAll, describe, expect, it } from 'vitest';
import type { LoadOptions, Model } from '../../src/inference/contract/engine.ts';
import { maxAbortMs } from '../../src/inference/process/supervisedSequence.ts';
import { generate, userPrompt } from '../contracts/generation.ts';
import { isRunning, stopProcess } from '../helpers/runningProcesses.ts';
import { shortenTimers } from '../helpers/shortTimers.ts';
import { demoFile } from './demo.ts';
import { useProcessEngine } from './processEngineRig.ts';

const options: LoadOptions = { contextSize: 1024, slots: 2, threads: 1, gpu: 'off' };

describe('the supervision of an engine process', () => {
  const rig = useProcessEngine();

  it('goes on when the file of its model cannot be examined', async () => {
    const file = join(rig.folder, 'models', 'demo.gguf');
    await cp(demoFile, file);
    const model = await rig.engine.load(file, options);
    // A part of the path is a file: as on a disk that was removed, the file is neither there nor missing.
    await rename(join(rig.folder, 'models'), join(rig.folder, 'moved'));
    await writeFile(join(rig.folder, 'models'), '');
    const counted = model.count(['lamp'.repeat(1_000_000)]).catch((error: unknown) => error);
    process.kill(rig.lastPid(), 'SIGKILL');
    expect(await counted).toMatchObject({ name: 'MODEL_LOAD_FAILED', message: expect.stringContaining(file) });
    await rm(join(rig.folder, 'models'));
    await rename(join(rig.folder, 'moved'), join(rig.folder, 'models'));
    expect(await model.count([''])).toEqual([0]);
  });

  it('does not blame a model for a process that cannot be started', async () => {
    // Longer than the arguments of a process may be.
    rig.engine = rig.open({ cache: { folder: join(rig.folder, 'x/'.repeat(200_000)), maxStateBytes: 0 } });
    rig.engine.prepare('off');
    for (let attempt = 1; attempt <= 4; attempt++) {
      await expect(rig.engine.load(demoFile, options)).rejects.toMatchObject({
        name: 'MODEL_LOAD_FAILED',
        message: expect.stringContaining('the engine process cannot be started: '),
      });
    }
    expect(rig.crashes).toEqual([]);
  });

  it('ends the process of a load when the engine is disposed of', async () => {
    const loading = rig.engine.load(demoFile, options).catch((error: unknown) => error);
    await rig.engine[Symbol.asyncDispose]();
    expect(rig.pids.map(isRunning)).toEqual([false]);
    expect(await loading).toMatchObject({ message: expect.stringContaining('cancelled') });
  });

  it('leaves one process when the third crash of a model is that of a load', async () => {
    let kills = 3;
    rig.engine = rig.open({
      onStart: (pid) => {
        rig.pids.push(pid);
        if (kills-- > 0) process.kill(pid, 'SIGKILL');
      },
    });
    // A load that its process has not received is tried a second time.
    for (let load = 1; load <= 2; load++) {
      await expect(rig.engine.load(demoFile, options)).rejects.toMatchObject({ name: 'MODEL_LOAD_FAILED' });
    }
    expect(rig.crashes.map(({ count }) => count)).toEqual([1, 2, 3]);
    expect(rig.pids).toHaveLength(3);
    const model = await rig.engine.load(demoFile, { ...options, afterCrashes: true });
    expect(await model.count([''])).toEqual([0]);
    expect(rig.pids.filter(isRunning)).toHaveLength(1);
  });
});

describe('the supervision of an engine process that has options of Node', () => {
  const rig = useProcessEngine(true);
  let model: Model;

  it('is not delayed by a debugger or by large modules of NODE_OPTIONS', async () => {
    const preload = join(rig.folder, 'preload.cjs');
    await writeFile(preload, 'globalThis.large = Array.from({ length: 1_000_000 }, (_, index) => ({ index }));');
    const before = process.env['NODE_OPTIONS'];
    process.env['NODE_OPTIONS'] = `--inspect-brk=0 --require ${preload}`;
    try {
      model = await rig.engine.load(demoFile, options);
      expect(await model.count([''])).toEqual([0]);
    } finally {
      if (before === undefined) delete process.env['NODE_OPTIONS'];
      else process.env['NODE_OPTIONS'] = before;
    }
    expect(rig.crashes).toEqual([]);
  });

  it('ends a count that waits for a stopped process when the model is unloaded', async () => {
    await stopProcess(rig.lastPid());
    const counted = model.count(['lamp']).catch((error: unknown) => error);
    await model[Symbol.asyncDispose]();
    expect(await counted).toMatchObject({ name: 'INFERENCE_FAILED' });
  });
});

describe('the supervision of an engine process that is stopped or killed', () => {
  const rig = useProcessEngine(true);
  let model: Model;
  let abort: AbortController | undefined;
  beforeAll(async () => {
    rig.engine = rig.open({
      onCrash: (crash) => {
        rig.crashes.push(crash);
        setImmediate(() => abort?.abort());
      },
    });
    model = await rig.engine.load(demoFile, options);
  });

  it('ends a generation that is aborted, and a sequence, while the process is stopped', async () => {
    shortenTimers(maxAbortMs);
    const [sequence, other] = [model.openSequence(), model.openSequence()];
    const control = new AbortController();
    const pieces: string[] = [];
    const generated = generate(sequence, userPrompt('Tell me a story.'), {
      signal: control.signal,
      onText(piece) {
        if (pieces.push(piece) > 1) return;
        process.kill(rig.lastPid(), 'SIGSTOP');
        control.abort();
      },
    });
    const { finishReason, text } = await generated;
    expect({ finishReason, text }).toEqual({ finishReason: 'aborted', text: pieces.join('') });
    await sequence[Symbol.asyncDispose]();
    expect(rig.crashes).toEqual([]);
    process.kill(rig.lastPid(), 'SIGCONT');
    expect((await generate(other, userPrompt('How are you today?'))).finishReason).toBe('end');
    expect(pieces.join('')).toBe(text);
    expect(rig.pids).toHaveLength(1);
  });

  // The process is stopped, so it does not receive the request before it is killed.
  it.each([
    ['before the process is killed', 'sent'],
    ['while the next process is loaded', 'loading'],
  ] as const)('ends a generation that is aborted %s at once', async (_, moment) => {
    abort = new AbortController();
    const sequence = model.openSequence();
    await stopProcess(rig.lastPid());
    const generated = generate(sequence, userPrompt('How are you today?'), { signal: abort.signal });
    await new Promise((resolve) => setImmediate(resolve));
    if (moment === 'sent') abort.abort();
    process.kill(rig.lastPid(), 'SIGKILL');
    expect((await generated).finishReason).toBe('aborted');
    // A loaded model has threads.
    expect(model.stats().threads).toBe(0);
    expect((await generate(sequence, userPrompt('How are you today?'))).finishReason).toBe('end');
    expect(model.stats().threads).toBe(1);
  });

  it('does not start a model again that is unloaded while it waits to be', async () => {
    const sequence = model.openSequence();
    process.kill(rig.lastPid(), 'SIGKILL');
    const generated = generate(sequence, userPrompt('How are you today?'));
    await model[Symbol.asyncDispose]();
    expect((await generated).finishReason).toBe('aborted');
  });
});
