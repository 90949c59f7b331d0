import { Worker } from 'node:worker_threads';

/** The file descriptor of an engine process on which its guard gives signs of life: the fifth of its `stdio`. */
export const guardDescriptor = 4;

/** Tells the guard whether a model or the library is being loaded. */
export type SetLoading = (isLoading: boolean) => void;

// Runs in a worker thread, in which nothing else of the package is loaded.
const script = `
  const { parentPort, workerData: { serverPid, descriptor, intervalMs } } = require('node:worker_threads');
  const { writeSync } = require('node:fs');
  const isAlive = () => { try { return process.kill(serverPid, 0); } catch (error) { return error.code === 'EPERM'; } };
  let isLoading = true;
  parentPort.on('message', (message) => { isLoading = message; });
  setInterval(() => {
    if (process.ppid !== serverPid || !isAlive()) process.kill(process.pid, 'SIGKILL');
    try { if (isLoading) writeSync(descriptor, '.'); } catch {}
  }, intervalMs);
`;

/**
 * Starts the guard of this engine process: a thread that runs also while the event loop of the main thread is blocked. It ends
 * the process when the server process has ended (a chat template may never end), and gives a sign of life at intervals while
 * something is loaded (a library on a slow disk blocks the event loop for long).
 */
export function startGuard(serverPid: number, intervalMs: number): SetLoading {
  const worker = new Worker(script, {
    eval: true,
    workerData: { serverPid, intervalMs, descriptor: guardDescriptor },
    // Without modules that NODE_OPTIONS preloads: they do not fit into so little memory.
    execArgv: [],
    env: {},
    resourceLimits: { maxOldGenerationSizeMb: 8, maxYoungGenerationSizeMb: 2 },
  });
  worker.unref();
  return (isLoading) => worker.postMessage(isLoading);
}
