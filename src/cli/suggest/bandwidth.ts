import { availableParallelism } from 'node:os';
import { Worker } from 'node:worker_threads';

const maxThreads = 4;
const measureMs = 200;
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
export async function measureBandwidth(): Promise<number | undefined> {
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
