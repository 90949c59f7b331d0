// Process of the game: starts its threads, and says how many frames they have rendered and how long the last ones took.
// arguments: THREADS [TARGET_MS SHARE]: frames begin TARGET_MS apart, and their work takes that share of it on idle cores.
import { setTimeout as wait } from 'node:timers/promises';
import { Worker } from 'node:worker_threads';

const [threads, targetMs = 0, share = 0] = process.argv.slice(2).map(Number);
const calibrationMs = 2000;
const counters = new Int32Array(new SharedArrayBuffer(16));
// Milliseconds: the target, when the frame began, then those of the last frames.
const times = new Float64Array(new SharedArrayBuffer(8 * 4098));
const [framesAt, stepsAt] = [0, 2];
// A few milliseconds on a core of its own.
counters[stepsAt] = 4_000_000;
const program = new URL('worker.mjs', import.meta.url);
for (let at = 0; at < threads; at++) {
  const worker = new Worker(program, { workerData: { counters, times, threads } });
  worker.on('error', (error) => {
    throw error;
  });
}

let read = 0;
/** The milliseconds of the frames since the last call. */
function takeTimes() {
  const frames = Atomics.load(counters, framesAt);
  const taken = [];
  for (read = Math.max(read, frames - 4096); read < frames; read++) taken.push(times[2 + (read % 4096)]);
  return taken;
}

if (targetMs > 0) {
  await wait(calibrationMs / 2);
  takeTimes();
  await wait(calibrationMs);
  const sorted = takeTimes().toSorted((a, b) => a - b);
  counters[stepsAt] = (counters[stepsAt] * targetMs * share) / sorted[Math.floor(sorted.length / 2)];
  times[0] = targetMs;
}
process.on('message', () => {
  const frames = Atomics.load(counters, framesAt);
  process.send({ frames, ms: performance.now(), times: targetMs > 0 ? takeTimes() : [] });
});
process.on('disconnect', () => process.exit());
process.send('ready');
