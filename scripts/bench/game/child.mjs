// Process of the game: starts its threads, and says how many frames they have rendered.
import { Worker } from 'node:worker_threads';

const threads = Number(process.argv[2]);
const state = new Int32Array(new SharedArrayBuffer(8));
const program = new URL('worker.mjs', import.meta.url);
for (let at = 0; at < threads; at++) {
  const worker = new Worker(program, { workerData: { state, threads } });
  worker.on('error', (error) => {
    throw error;
  });
}

process.on('message', () => process.send({ frames: Atomics.load(state, 0), ms: performance.now() }));
process.on('disconnect', () => process.exit());
