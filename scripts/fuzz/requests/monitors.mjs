// Monitors of the process that they run in: for how long work held the event loop, and how much memory was resident.
import { readFileSync } from 'node:fs';
import { median } from '../../bench/results.mjs';

const tickMs = 2;

/**
 * Measures the event loop with a timer that is due every two milliseconds. What counts is the processor time of the main
 * thread between two of its ticks, where the system tells it (Linux), so that other programs do not lengthen a hold.
 * @returns {{ take(): number }} `take` returns the longest hold in milliseconds since the last `take`.
 */
export function monitorEventLoop() {
  let last = readMainThreadMs();
  let longest = 0;
  const measure = () => {
    const now = readMainThreadMs();
    longest = Math.max(longest, now - last);
    last = now;
  };
  setInterval(measure, tickMs).unref();
  return {
    take() {
      measure();
      const taken = longest;
      longest = 0;
      return taken;
    },
  };
}

/** The processor time of the main thread so far, in milliseconds; the time on the clock where the system does not tell it. */
function readMainThreadMs() {
  try {
    const [ranNs] = readFileSync(`/proc/self/task/${process.pid}/schedstat`, 'utf8').split(' ');
    return Number(ranNs) / 1e6;
  } catch {
    return performance.now();
  }
}

const sampleMs = 20;

/**
 * Samples the resident set size.
 * @returns {{ takePeak(): number }} `takePeak` returns the largest sample in bytes since the last `takePeak`.
 */
export function monitorMemory() {
  let peak = 0;
  const sample = () => {
    peak = Math.max(peak, process.memoryUsage.rss());
  };
  setInterval(sample, sampleMs).unref();
  return {
    takePeak() {
      sample();
      const taken = peak;
      peak = 0;
      return taken;
    },
  };
}

/**
 * A unit of work in milliseconds: the processor time that this machine takes, at the moment, to write and read one megabyte of
 * JSON and to sort its strings. The median of several measurements.
 */
export function calibrate() {
  return median(Array.from({ length: 7 }, measureUnit));
}

const unitItems = Array.from({ length: 20_000 }, (_, index) => ({
  name: `parameter ${(index * 7919) % 20_000}`,
  index,
}));

function measureUnit() {
  const start = readMainThreadMs();
  const items = JSON.parse(JSON.stringify(unitItems));
  items.sort((a, b) => (a.name < b.name ? -1 : 1));
  return readMainThreadMs() - start;
}
