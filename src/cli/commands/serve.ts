import { Command } from 'commander';
import { whenAborted } from '../../base/abort.ts';
import type { ServerOptions } from '../../server/config.ts';
import { createLog, type Log } from '../../base/log.ts';
import { isProcessAlive } from '../../base/ownership.ts';
import { interruptedExitCode } from '../interrupt.ts';
import { misspeltVariables, serverFlags, serverOptions } from '../options.ts';
import { readFile, rm, stat } from 'node:fs/promises';
import { dirname, resolve } from 'node:path';
import { createFile, describeFsError, writeAtomic } from '../../base/filesystem.ts';
import { tryParseJson } from '../../base/jsonTypes.ts';

export const serveCommand = (): Command =>
  serverFlags(new Command('serve').description('start the server')).action(async (flags: Record<string, unknown>) => {
    const options = serverOptions(flags);
    const log = createLog({ level: options.logLevel, json: options.json, file: options.logFile });
    for (const sentence of misspeltVariables(process.env)) log.warn(sentence);
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
  const portFile = options.portFile === '' ? undefined : portFileAt(options.portFile);
  await portFile?.prepare();
  // Imported on demand: loading the engine takes time, and other commands do not need it.
  const { start } = await import('../../server/start.ts');
  await using server = await start(options, { log, stop });
  // Disposed of before the server, so that clients do not find a server that is ending.
  await using _ = portFile;
  const line = `${JSON.stringify({ event: 'listening', port: server.port, pid: process.pid })}\n`;
  await portFile?.write(line);
  if (options.json) process.stdout.write(line);
  else if (process.stdout.isTTY && (options.playground || options.page !== '')) {
    // A browser cannot open the address "all".
    const url = ['0.0.0.0', '::'].includes(options.host) ? `ws://127.0.0.1:${server.port}` : server.url;
    process.stdout.write(`${options.page === '' ? 'Playground' : 'Page'}: ${url.replace(/^ws/, 'http')}/\n`);
  }
  await whenAborted(stop);
}

/** Aborted when the server must stop: SIGTERM, SIGINT, SIGHUP, the end of the parent process, closed stdin. */
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

/** The file of `--port-file`: the port, for programs that cannot read the output. Deleted with the server. */
export function portFileAt(path: string) {
  const draft = `${path}.part`;
  let written: string | undefined;
  const describingErrors = (work: Promise<unknown>): Promise<unknown> =>
    work.catch((cause: NodeJS.ErrnoException) => {
      const noFolder = cause.code === 'ENOENT' || cause.code === 'ENOTDIR';
      const reason = noFolder ? `there is no folder ${dirname(resolve(path))}` : describeFsError(cause);
      throw new Error(`--port-file ${path} cannot be written: ${reason}`, { cause });
    });
  const tryDraft = async (): Promise<void> => {
    const stats = await stat(path).catch(() => undefined);
    if (stats?.isDirectory()) throw Object.assign(new Error('a folder'), { code: 'EISDIR' });
    await (await createFile(draft)).close();
    await rm(draft);
    if (await isOfEndedProcess(path)) await rm(path, { force: true });
  };
  return {
    /** Checks before the start that it can be written; deletes an old one. @throws Error that names --port-file. */
    prepare: () => describingErrors(tryDraft()),
    /** Writes the line atomically: a reader never sees a part of it. @throws Error that names --port-file. */
    async write(line: string): Promise<void> {
      await describingErrors(writeAtomic(path, line, draft));
      written = line;
    },
    async [Symbol.asyncDispose](): Promise<void> {
      if (written === undefined) return;
      // Errors are ignored: the server is ending anyway.
      const line = await readFile(path, 'utf8').catch(() => undefined);
      // Another server that was started in the meantime may have written its own line: keep that.
      if (line === written) await rm(path, { force: true }).catch(() => undefined);
    },
  };
}

async function isOfEndedProcess(path: string): Promise<boolean> {
  const { pid } = Object(tryParseJson(await readFile(path, 'utf8').catch(() => ''))) as { readonly pid?: unknown };
  return Number.isInteger(pid) && Number(pid) > 0 && !isProcessAlive(Number(pid));
}
