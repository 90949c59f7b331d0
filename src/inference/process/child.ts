import { flushCompiled, useCompileCache } from '../../base/compileCache.ts';
import type { EngineProcessSettings } from './engineServer.ts';
import { startGuard } from './guard.ts';
import { lowerPriority } from './lowerPriority.ts';

// The main file of an engine process. Its argument is an `EngineProcessSettings` as JSON.
const settings = JSON.parse(process.argv[2] ?? '') as EngineProcessSettings;
const send = (messages: readonly unknown[]): void =>
  void process.send?.(messages, undefined, undefined, () => undefined);

// A signal of the terminal reaches this process, too. The server process decides when it ends.
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, () => undefined);

// Not `process.exit`, which would wait for native threads.
process.on('disconnect', () => process.kill(process.pid, 'SIGKILL'));

// Before threads are started, which inherit it.
lowerPriority(settings.priority);

const setGuardState = startGuard(settings.serverPid, settings.heartbeatMs);

if (settings.timingsFolder !== undefined) useCompileCache(settings.timingsFolder);

// Imported last: it loads the library, which takes long on a slow disk.
const early: (readonly unknown[])[] = [];
const keepEarly = (messages: readonly unknown[]): void => void early.push(messages);
process.on('message', keepEarly);
const { EngineServer } = await import('./engineServer.ts');
const engine = new EngineServer(send, settings, setGuardState);
process.off('message', keepEarly);
process.on('message', (messages: readonly unknown[]) => engine.receive(messages));
for (const messages of early) engine.receive(messages);
if (early.length === 0) setGuardState('idle');
flushCompiled();
