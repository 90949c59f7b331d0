// Monitors of the process that they run in: how long the event loop was held, and how much memory was resident.
import { readFileSync } from 'node:fs';
import { median } from '../../bench/results.mjs';

const tickMs = 2;

/**
 * Measures the event loop with a timer that is due every two milliseconds. Time in which other programs had the processor
 * does not count, where the system tells it (Linux).
 * @returns {{ take(): number }} `take` returns the longest delay of the timer in milliseconds since the last `take`.
 */
export function monitorEventLoop() {
  let last = performance.now();
  let lastWaitMs = readRunQueueWaitMs();
  let longest = 0;
  const measure = () => {
    const now = performance.now();
    const delay = now - last - tickMs;
    last = now;
    const waitMs = readRunQueueWaitMs();
    longest = Math.max(longest, delay - (waitMs - lastWaitMs));
    lastWaitMs = waitMs;
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

/** How long the main thread has waited for a processor so far; 0 where the system does not tell. */
function readRunQueueWaitMs() {
  try {
    const [, waitNs] = readFileSync(`/proc/self/task/${process.pid}/schedstat`, 'utf8').split(' ');
    return Number(waitNs) / 1e6;
  } catch {
    return 0;
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
 * A unit of work in milliseconds: how long this machine takes, at the moment, to write and read one megabyte of JSON and to
 * sort its strings. The median of several measurements.
 */
export function calibrate() {
  return median(Array.from({ length: 7 }, measureUnit));
}

const unitItems = Array.from({ length: 20_000 }, (_, index) => ({
  name: `parameter ${(index * 7919) % 20_000}`,
  index,
}));

function measureUnit() {
  const start = performance.now();
  const items = JSON.parse(JSON.stringify(unitItems));
  items.sort((a, b) => (a.name < b.name ? -1 : 1));
  return performance.now() - start;
}
