// Thread of the game: does its part of each frame, then waits until all threads have done theirs (barrier).
import { workerData } from 'node:worker_threads';

// A few milliseconds on a core of its own.
const steps = 4_000_000;
const [framesAt, arrivedAt] = [0, 1];
const { state, threads } = workerData;

let value = 0.5;
for (;;) {
  const frame = Atomics.load(state, framesAt);
  for (let step = 0; step < steps; step++) value = value * 0.999999 + 1e-7;
  // The result is used, so that the compiler keeps the work.
  if (Number.isNaN(value)) throw new Error('the work gave no number');
  if (Atomics.add(state, arrivedAt, 1) + 1 === threads) {
    Atomics.store(state, arrivedAt, 0);
    Atomics.add(state, framesAt, 1);
    Atomics.notify(state, framesAt);
  } else {
    Atomics.wait(state, framesAt, frame);
  }
}
