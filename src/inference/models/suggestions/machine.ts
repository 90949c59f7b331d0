import { availableParallelism, totalmem } from 'node:os';
import { Worker } from 'node:worker_threads';
import { describeError } from '../../../protocol/fault.ts';
import type { Engine, GpuChoice } from '../../contract/engine.ts';
import type { Hardware } from '../../contract/memory.ts';
import { freeMemory } from '../../llama/contextMemory.ts';

/** The machine that models run on. */
export interface MeasuredMachine extends Hardware {
  /** RAM in bytes, and cores that this process may use. */
  readonly totalRam: number;
  readonly cores: number;
  /** Memory bandwidth in bytes per second; undefined: not measured. */
  readonly bandwidth: number | undefined;
}

/** The turns of a server, which a measurement and the computing of models would slow down. */
export interface RunningTurns {
  /** Resolves when none computes, or after a while. */
  untilIdle(): Promise<void>;
  areComputing(): boolean;
}

const noTurns: RunningTurns = { untilIdle: async () => undefined, areComputing: () => false };

/**
 * Reads what memory and cards there are now, and measures the memory bandwidth, once in a process. A measurement while turns
 * compute is too low, so it is not remembered.
 */
export async function readMachine(
  engine: Engine,
  gpu: GpuChoice,
  turns: RunningTurns = noTurns,
): Promise<MeasuredMachine> {
  const bandwidth = await findBandwidth(turns);
  const hardware = await engine.readHardware?.(gpu).catch(unknownHardware);
  const { freeRam, card, problem } = hardware ?? unknownHardware('the engine reports no hardware');
  return { freeRam, card, problem, totalRam: totalmem(), cores: availableParallelism(), bandwidth };
}

const unknownHardware = (error: unknown): Hardware => ({
  freeRam: freeMemory(),
  card: undefined,
  problem: typeof error === 'string' ? error : describeError(error),
});

let measured: number | undefined;
let measuring: Promise<number | undefined> | undefined;

const findBandwidth = async (turns: RunningTurns): Promise<number | undefined> =>
  measured ?? (measuring ??= measureWith(turns).finally(() => (measuring = undefined)));

async function measureWith(turns: RunningTurns): Promise<number | undefined> {
  await turns.untilIdle();
  const isDisturbed = turns.areComputing();
  const bandwidth = await measureBandwidth();
  if (!isDisturbed && !turns.areComputing()) measured = bandwidth;
  return bandwidth;
}

const maxThreads = 4;
/** Milliseconds of a measurement. */
export const measureMs = 200;
// Both buffers of all threads together are larger than the caches of the processor.
const bufferBytes = 64 * 1024 * 1024;

// Comparing equal buffers reads both, with the widest instructions of the processor. The threads wait for each other, so
// that they read at the same time.
const source = `
  const { parentPort, workerData } = require('node:worker_threads');
  const { bufferBytes, measureMs, ready, threads } = workerData;
  const [first, second] = [Buffer.alloc(bufferBytes, 1), Buffer.alloc(bufferBytes, 1)];
  Atomics.add(ready, 0, 1);
  Atomics.notify(ready, 0);
  for (let count; (count = Atomics.load(ready, 0)) < threads; ) Atomics.wait(ready, 0, count);
  const start = performance.now();
  let bytes = 0;
  let ms = 0;
  while (ms < measureMs) {
    first.compare(second);
    bytes += 2 * bufferBytes;
    ms = performance.now() - start;
  }
  parentPort.postMessage((bytes * 1000) / ms);
`;

/**
 * Measures the memory bandwidth in bytes per second, for a fraction of a second: reads by up to four threads at a time.
 * Undefined when it cannot be measured, for example for want of memory.
 */
async function measureBandwidth(): Promise<number | undefined> {
  const threads = Math.min(availableParallelism(), maxThreads);
  const ready = new Int32Array(new SharedArrayBuffer(Int32Array.BYTES_PER_ELEMENT));
  const workerData = { bufferBytes, measureMs, ready, threads };
  const workers = Array.from({ length: threads }, () => new Worker(source, { eval: true, workerData }));
  try {
    const rates = await Promise.all(workers.map(nextMessage));
    return rates.reduce((sum, rate) => sum + rate, 0);
  } catch {
    return undefined;
  } finally {
    await Promise.all(workers.map((worker) => worker.terminate()));
  }
}

const nextMessage = (worker: Worker): Promise<number> =>
  new Promise((resolve, reject) => {
    worker.once('message', resolve);
    worker.once('error', reject);
    worker.once('exit', () => reject(new Error('the worker has ended')));
  });
