// Monitors of the process that they run in: how long the event loop was held, and how much memory was resident.

const tickMs = 2;

/**
 * Measures the event loop with a timer that is due every two milliseconds.
 * @returns {{ take(): number }} `take` returns the longest delay of the timer in milliseconds since the last `take`.
 */
export function monitorEventLoop() {
  let last = performance.now();
  let longest = 0;
  const measure = () => {
    const now = performance.now();
    longest = Math.max(longest, now - last - tickMs);
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
