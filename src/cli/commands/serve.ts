import { Command } from 'commander';
import { whenAborted } from '../../abort.ts';
import type { ServerOptions } from '../../config.ts';
import { createLog, type Log } from '../../log.ts';
import { isProcessAlive } from '../../ownership.ts';
import { serverFlags, serverOptions } from '../options.ts';
import { PortFile } from '../portFile.ts';

/** `turngraph serve` */
export const serveCommand = (): Command =>
  serverFlags(new Command('serve').description('start the server')).action(async (flags: Record<string, unknown>) => {
    const options = serverOptions(flags);
    const log = createLog({ level: options.logLevel, json: options.json });
    const stop = watchForStop(options, log);
    await serve(options, log, stop).catch((error: unknown) => {
      if (error !== stop.reason) throw error;
    });
    setTimeout(exitAfterFlush, flushLogMs).unref();
  });

const flushLogMs = 1000;

// Lines of the log that nobody reads would keep the process for ever, and so would the listener that writes what is left.
function exitAfterFlush(): void {
  process.removeAllListeners('exit');
  process.exit();
}

/** Serves until it is told to stop. @throws the signal's reason when that is before it listens and has loaded its models */
async function serve(options: ServerOptions, log: Log, stop: AbortSignal): Promise<void> {
  const portFile = options.portFile === '' ? undefined : new PortFile(options.portFile);
  await portFile?.prepare();
  // The engine takes its time to load, and the other commands do without.
  const { start } = await import('../../start.ts');
  await using server = await start(options, { log, stop });
  // Who looks for a server must not find one that is ending, so the file goes first.
  await using _ = portFile;
  const line = `${JSON.stringify({ event: 'listening', port: server.port, pid: process.pid })}\n`;
  await portFile?.write(line);
  if (options.json) process.stdout.write(line);
  await whenAborted(stop);
}

/** A signal that is aborted when the server is to end: by a signal, with its parent, or with its standard input. */
function watchForStop({ parentPid, stdin }: ServerOptions, log: Log): AbortSignal {
  const controller = new AbortController();
  const stop = (): void => controller.abort();
  // Not once: a library that comes later takes a signal that nobody else listens to any more for the end, and kills.
  process.on('SIGTERM', stop);
  process.once('SIGINT', () => {
    stop();
    process.once('SIGINT', () => process.exit(exitCodeWhenKilled));
  });
  if (parentPid > 0)
    whenProcessEnds(parentPid, () => {
      log.warn(`process ${parentPid} is gone, so the server ends`);
      stop();
    });
  if (stdin) {
    process.stdin.on('end', stop).on('error', stop).resume();
    // A server that cannot start ends, though its input is open; what is a file knows no such thing.
    process.stdin.unref?.();
  }
  return controller.signal;
}

const parentCheckMs = 1000;
// What a shell reports of a process that SIGINT has killed.
const exitCodeWhenKilled = 130;

function whenProcessEnds(pid: number, tell: () => void): void {
  const timer = setInterval(() => {
    if (isProcessAlive(pid)) return;
    clearInterval(timer);
    tell();
  }, parentCheckMs).unref();
}
