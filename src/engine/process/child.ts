import { Worker } from 'node:worker_threads';
import { serveEngine, type EngineProcessSettings } from './engineServer.ts';

// The main file of an engine process. Its argument is an `EngineProcessSettings` as JSON.
const settings = JSON.parse(process.argv[2] ?? '') as EngineProcessSettings;
const peer = serveEngine((messages) => process.send?.(messages, undefined, undefined, () => undefined), settings);
process.on('message', (messages: readonly unknown[]) => peer.receive(messages));

// A signal of the terminal reaches this process, too. The server process decides when it ends.
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, () => undefined);

// Not `process.exit`, which would wait for native threads.
const end = (): void => void process.kill(process.pid, 'SIGKILL');
process.on('disconnect', end);

// The event loop of this thread can be blocked by a chat template that does not end. It must not outlive the server process
// even then.
const guard = `
  const { workerData: serverPid } = require('node:worker_threads');
  const isAlive = () => { try { return process.kill(serverPid, 0); } catch (error) { return error.code === 'EPERM'; } };
  setInterval(() => (process.ppid === serverPid && isAlive()) || process.kill(process.pid, 'SIGKILL'), 1000);
`;
new Worker(guard, {
  eval: true,
  workerData: settings.serverPid,
  execArgv: [],
  resourceLimits: { maxOldGenerationSizeMb: 8, maxYoungGenerationSizeMb: 2 },
}).unref();
