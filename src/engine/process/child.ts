import { Worker } from 'node:worker_threads';
import type { EngineProcessSettings } from './engineServer.ts';

// The main file of an engine process. Its argument is an `EngineProcessSettings` as JSON.
const settings = JSON.parse(process.argv[2] ?? '') as EngineProcessSettings;
const send = (messages: readonly unknown[]): void =>
  void process.send?.(messages, undefined, undefined, () => undefined);

// A signal of the terminal reaches this process, too. The server process decides when it ends.
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, () => undefined);

// Not `process.exit`, which would wait for native threads.
process.on('disconnect', () => process.kill(process.pid, 'SIGKILL'));

// The event loop of this thread can be blocked by a chat template that does not end. The process must not outlive the server
// process even then.
const guard = `
  const { workerData: serverPid } = require('node:worker_threads');
  const isAlive = () => { try { return process.kill(serverPid, 0); } catch (error) { return error.code === 'EPERM'; } };
  setInterval(() => (process.ppid === serverPid && isAlive()) || process.kill(process.pid, 'SIGKILL'), 1000);
`;
new Worker(guard, {
  eval: true,
  workerData: settings.serverPid,
  // Without modules that NODE_OPTIONS preloads: they do not fit into so little memory.
  execArgv: [],
  env: {},
  resourceLimits: { maxOldGenerationSizeMb: 8, maxYoungGenerationSizeMb: 2 },
}).unref();

// Imported last: it loads the library. On a slow disk that takes long, so empty messages say that this process is alive.
const early: (readonly unknown[])[] = [];
const keepEarly = (messages: readonly unknown[]): void => void early.push(messages);
process.on('message', keepEarly);
const signOfLife = setInterval(() => send([]), settings.heartbeatMs);
const { serveEngine } = await import('./engineServer.ts');
clearInterval(signOfLife);
const peer = serveEngine(send, settings);
process.off('message', keepEarly);
process.on('message', (messages: readonly unknown[]) => peer.receive(messages));
for (const messages of early) peer.receive(messages);
