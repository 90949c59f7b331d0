import { Command } from 'commander';
import { whenAborted } from '../../base/abort.ts';
import type { ServerOptions } from '../../server/config.ts';
import { createLog, type Log } from '../../base/log.ts';
import { isProcessAlive } from '../../base/ownership.ts';
import { interruptedExitCode } from '../interrupt.ts';
import { serverFlags, serverOptions } from '../options.ts';
import { PortFile } from '../portFile.ts';

/** `turngraph serve`: starts the server. */
export const serveCommand = (): Command =>
  serverFlags(new Command('serve').description('start the server')).action(async (flags: Record<string, unknown>) => {
    const options = serverOptions(flags);
    const log = createLog({ level: options.logLevel, json: options.json, file: options.logFile });
    const stop = watchForStop(options, log);
    await serve(options, log, stop).catch((error: unknown) => {
      if (error !== stop.reason) throw error;
    });
    setTimeout(exitAfterFlush, flushLogMs).unref();
  });

const flushLogMs = 1000;

// Unread log output (a full pipe) would keep the process alive forever, and so would pino's exit handler, which writes
// the rest.
function exitAfterFlush(): void {
  process.removeAllListeners('exit');
  process.exit();
}

/** Serves until `stop` is aborted. @throws the signal's reason when it is aborted before the server has started. */
async function serve(options: ServerOptions, log: Log, stop: AbortSignal): Promise<void> {
  const portFile = options.portFile === '' ? undefined : new PortFile(options.portFile);
  await portFile?.prepare();
  // Imported on demand: loading the engine takes time, and other commands do not need it.
  const { start } = await import('../../server/start.ts');
  await using server = await start(options, { log, stop });
  // Disposed of before the server, so that clients do not find a server that is ending.
  await using _ = portFile;
  const line = `${JSON.stringify({ event: 'listening', port: server.port, pid: process.pid })}\n`;
  await portFile?.write(line);
  if (options.json) process.stdout.write(line);
  else if (process.stdout.isTTY && (options.playground || options.page !== ''))
    process.stdout.write(`${options.page === '' ? 'Playground' : 'Page'}: ${pageAddress(options.host, server.port)}\n`);
  await whenAborted(stop);
}

/** The address of the playground for a browser on this machine; none can open the address "all". */
function pageAddress(host: string, port: number): string {
  if (host === '0.0.0.0' || host === '::') return `http://127.0.0.1:${port}/`;
  return `http://${host.includes(':') ? `[${host}]` : host}:${port}/`;
}

/**
 * A signal that is aborted when the server must stop: on SIGTERM, SIGINT or SIGHUP, when the parent process ends, or when stdin
 * closes.
 */
function watchForStop({ parentPid, stdin }: ServerOptions, log: Log): AbortSignal {
  const controller = new AbortController();
  const stop = (): void => controller.abort();
  // `on`, not `once`: if no SIGTERM listener remains, the exit hook of a library kills the process.
  process.on('SIGTERM', stop);
  // The terminal was closed. Without a listener Node ends without draining.
  process.on('SIGHUP', stop);
  process.once('SIGINT', () => {
    stop();
    process.once('SIGINT', () => process.exit(interruptedExitCode));
  });
  if (parentPid > 0)
    whenProcessEnds(parentPid, () => {
      log.warn(`process ${parentPid} has ended, so the server stops`);
      stop();
    });
  if (stdin) {
    process.stdin.on('end', stop).on('error', stop).resume();
    // An open stdin must not keep a server alive that cannot start. A stdin that is a file has no `unref`.
    process.stdin.unref?.();
  }
  return controller.signal;
}

const parentCheckMs = 1000;

function whenProcessEnds(pid: number, onEnd: () => void): void {
  const timer = setInterval(() => {
    if (isProcessAlive(pid)) return;
    clearInterval(timer);
    onEnd();
  }, parentCheckMs).unref();
}
