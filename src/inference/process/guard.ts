import { Worker } from 'node:worker_threads';

/** The file descriptor of an engine process on which its guard gives signs of life: the fifth of its `stdio`. */
export const guardDescriptor = 4;

/**
 * What an engine process does, for its guard. While it is idle its event loop runs, which notices by itself that the server
 * process has ended: the guard sleeps. While a model or the library is loaded, the guard gives signs of life.
 */
export type GuardState = 'idle' | 'working' | 'loading';

/** Tells the guard what the process does from now on. */
export type SetGuardState = (state: GuardState) => void;

// Runs in a worker thread, in which nothing else of the package is loaded.
const script = `
  const { parentPort, workerData: { serverPid, descriptor, intervalMs } } = require('node:worker_threads');
  const { writeSync } = require('node:fs');
  const isAlive = () => { try { return process.kill(serverPid, 0); } catch (error) { return error.code === 'EPERM'; } };
  let isLoading = true;
  let timer;
  const setState = (state) => {
    isLoading = state === 'loading';
    if (state === 'idle') {
      clearInterval(timer);
      timer = undefined;
    } else timer ??= setInterval(check, intervalMs);
  };
  const check = () => {
    if (process.ppid !== serverPid || !isAlive()) process.kill(process.pid, 'SIGKILL');
    try { if (isLoading) writeSync(descriptor, '.'); } catch {}
  };
  setState('loading');
  parentPort.on('message', setState);
`;

/**
 * Starts the guard of this engine process: a thread that runs also while the event loop of the main thread is blocked. It ends
 * the process when the server process has ended (a chat template may never end), and gives a sign of life at intervals while
 * something is loaded (a library on a slow disk blocks the event loop for long): see `GuardState`.
 */
export function startGuard(serverPid: number, intervalMs: number): SetGuardState {
  const worker = new Worker(script, {
    eval: true,
    workerData: { serverPid, intervalMs, descriptor: guardDescriptor },
    // Without modules that NODE_OPTIONS preloads: they do not fit into so little memory.
    execArgv: [],
    env: {},
    resourceLimits: { maxOldGenerationSizeMb: 8, maxYoungGenerationSizeMb: 2 },
  });
  worker.unref();
  let current: GuardState = 'loading';
  return (state) => {
    if (state === current) return;
    current = state;
    worker.postMessage(state);
  };
}
