import { rename, rm, writeFile } from 'node:fs/promises';
import { Command } from 'commander';
import type { ServerOptions } from '../config.ts';
import { serverFlags, serverOptions } from './options.ts';

/** `turngraph serve` */
export const serveCommand = (): Command =>
  serverFlags(new Command('serve').description('start the server')).action(async (flags: Record<string, unknown>) => {
    const options = serverOptions(flags);
    // The engine takes its time to load, and the other commands do without.
    const { start } = await import('../main.ts');
    const server = await start(options);
    const line = `${JSON.stringify({ event: 'listening', port: server.port, pid: process.pid })}\n`;
    if (options.portFile !== '') await writeWhole(options.portFile, line);
    if (options.json) process.stdout.write(line);
    await toldToStop(options);
    if (options.portFile !== '') await rm(options.portFile, { force: true });
    await server[Symbol.asyncDispose]();
  });

// Who watches the file never sees half a line.
async function writeWhole(file: string, text: string): Promise<void> {
  await writeFile(`${file}.part`, text);
  await rename(`${file}.part`, file);
}

/** Resolves when the server is to end: by a signal, with its parent, or with its standard input. */
const toldToStop = ({ parentPid, stdin }: ServerOptions): Promise<void> =>
  new Promise((resolve) => {
    process.once('SIGTERM', resolve);
    process.once('SIGINT', () => {
      resolve();
      process.once('SIGINT', () => process.exit(killed));
    });
    if (parentPid > 0) setInterval(() => lives(parentPid) || resolve(), parentCheckMs).unref();
    if (stdin) process.stdin.on('end', resolve).on('error', resolve).resume();
  });

const parentCheckMs = 1000;
// What a shell reports of a process that SIGINT has killed.
const killed = 130;

function lives(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    // A process of another user is there and may not be asked.
    return (error as NodeJS.ErrnoException).code === 'EPERM';
  }
}
