import { writeFile } from 'node:fs/promises';
import { Command } from 'commander';
import { start } from '../main.ts';
import { serverFlags, serverOptions } from './options.ts';

/** `turngraph serve` */
export const serveCommand = (): Command =>
  serverFlags(new Command('serve').description('start the server')).action(async (flags: Record<string, unknown>) => {
    const options = serverOptions(flags);
    const server = await start(options);
    const line = `${JSON.stringify({ event: 'listening', port: server.port, pid: process.pid })}\n`;
    if (options.json) process.stdout.write(line);
    if (options.portFile !== '') await writeFile(options.portFile, line);
    await stopSignal();
    await server[Symbol.asyncDispose]();
  });

const stopSignal = (): Promise<void> =>
  new Promise((resolve) => {
    for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => resolve());
  });
