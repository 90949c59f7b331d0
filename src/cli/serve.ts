import { Command } from 'commander';
import type { ServerOptions } from '../config.ts';
import { createLog, type Log } from '../log.ts';
import { serverFlags, serverOptions } from './options.ts';
import { PortFile } from './portFile.ts';

/** `turngraph serve` */
export const serveCommand = (): Command =>
  serverFlags(new Command('serve').description('start the server')).action(async (flags: Record<string, unknown>) => {
    await serve(serverOptions(flags));
    setTimeout(leave, lastWordsMs).unref();
  });

const lastWordsMs = 1000;

// Lines of the log that nobody reads would keep the process for ever, and so would the listener that writes what is left.
function leave(): void {
  process.removeAllListeners('exit');
  process.exit();
}

async function serve(options: ServerOptions): Promise<void> {
  const portFile = options.portFile === '' ? undefined : new PortFile(options.portFile);
  await portFile?.prepare();
  // The engine takes its time to load, and the other commands do without.
  const { start } = await import('../main.ts');
  const log = createLog({ level: options.logLevel, json: options.json });
  await using server = await start(options, { log });
  // Who looks for a server must not find one that is ending, so the file goes first.
  await using _ = portFile;
  const line = `${JSON.stringify({ event: 'listening', port: server.port, pid: process.pid })}\n`;
  await portFile?.write(line);
  if (options.json) process.stdout.write(line);
  await toldToStop(options, log);
}

/** Resolves when the server is to end: by a signal, with its parent, or with its standard input. */
const toldToStop = ({ parentPid, stdin }: ServerOptions, log: Log): Promise<void> =>
  new Promise((resolve) => {
    process.once('SIGTERM', resolve);
    process.once('SIGINT', () => {
      resolve();
      process.once('SIGINT', () => process.exit(killed));
    });
    if (parentPid > 0)
      whenGone(parentPid, () => {
        log.warn(`process ${parentPid} is gone, so the server ends`);
        resolve();
      });
    if (stdin) process.stdin.on('end', resolve).on('error', resolve).resume();
  });

const parentCheckMs = 1000;
// What a shell reports of a process that SIGINT has killed.
const killed = 130;

function whenGone(pid: number, tell: () => void): void {
  const timer = setInterval(() => {
    if (lives(pid)) return;
    clearInterval(timer);
    tell();
  }, parentCheckMs).unref();
}

function lives(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    // A process of another user is there and may not be asked.
    return (error as NodeJS.ErrnoException).code === 'EPERM';
  }
}
