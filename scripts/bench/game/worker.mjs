// Thread of the game: does its part of each frame, then waits until all threads have done theirs (barrier). The last one waits
// until the next frame is due.
import { workerData } from 'node:worker_threads';

const [framesAt, arrivedAt, stepsAt, neverAt] = [0, 1, 2, 3];
const [targetAt, beganAt, firstTimeAt] = [0, 1, 2];
const { counters, times, threads } = workerData;
// One clock for all threads.
const nowMs = () => Number(process.hrtime.bigint()) / 1e6;

let value = 0.5;
for (;;) {
  const frame = Atomics.load(counters, framesAt);
  const steps = Atomics.load(counters, stepsAt);
  for (let step = 0; step < steps; step++) value = value * 0.999999 + 1e-7;
  // The result is used, so that the compiler keeps the work.
  if (Number.isNaN(value)) throw new Error('the work gave no number');
  if (Atomics.add(counters, arrivedAt, 1) + 1 === threads) {
    const leftMs = times[beganAt] + times[targetAt] - nowMs();
    if (leftMs > 0) Atomics.wait(counters, neverAt, 0, leftMs);
    const now = nowMs();
    times[firstTimeAt + (frame % (times.length - firstTimeAt))] = now - times[beganAt];
    times[beganAt] = now;
    Atomics.store(counters, arrivedAt, 0);
    Atomics.add(counters, framesAt, 1);
    Atomics.notify(counters, framesAt);
  } else {
    Atomics.wait(counters, framesAt, frame);
  }
}
