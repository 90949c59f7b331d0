// Turns of all sessions at the same time, for some seconds.
import { setTimeout as wait } from 'node:timers/promises';
import { readUsage } from './usage.mjs';

/** Each session says the text again as soon as its turn has ended. Returns the figures. */
export async function runTurns({ server, sessions, text, seconds }) {
  const durations = [];
  const samples = [];
  const before = await readUsage(server);
  const ownBefore = process.cpuUsage();
  const began = performance.now();
  const endsAt = began + seconds * 1000;
  const sampling = (async () => {
    while (performance.now() < endsAt) {
      samples.push(await readUsage(server));
      await wait(Math.min(1000, (seconds * 1000) / 20));
    }
  })();
  await Promise.all(
    sessions.map(async (session) => {
      while (performance.now() < endsAt) durations.push(await session.turn(text));
    }),
  );
  const elapsedMs = performance.now() - began;
  await sampling;
  const after = await readUsage(server);
  const own = process.cpuUsage(ownBefore);
  durations.sort((a, b) => a - b);
  return {
    turns: durations.length,
    turnsPerMinute: Math.round((durations.length / elapsedMs) * 60_000),
    serverCpuMsPerTurn: ((after.cpuSeconds - before.cpuSeconds) * 1000) / durations.length,
    clientCpuMsPerTurn: (own.user + own.system) / 1000 / durations.length,
    serverCores: ((after.cpuSeconds - before.cpuSeconds) * 1000) / elapsedMs,
    medianMs: durations[Math.floor(durations.length / 2)] ?? NaN,
    p95Ms: durations[Math.floor(durations.length * 0.95)] ?? NaN,
    memory: { begin: memoryIn(samples.slice(0, third(samples))), end: memoryIn(samples.slice(-third(samples))) },
  };
}

const third = ({ length }) => Math.max(1, Math.floor(length / 3));

// The least heap is what is left after a garbage collection.
const memoryIn = (samples) => ({
  heapBytes: Math.min(...samples.map(({ heapBytes }) => heapBytes)),
  residentBytes: median(samples.map(({ residentBytes }) => residentBytes)),
  externalBytes: median(samples.map(({ externalBytes }) => externalBytes)),
  replayBytes: median(samples.map(({ replayBytes }) => replayBytes)),
});

function median(values) {
  const sorted = [...values].sort((a, b) => a - b);
  return sorted[Math.floor(sorted.length / 2)] ?? NaN;
}
