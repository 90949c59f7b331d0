import { destination, pino, type Logger } from 'pino';
import { build } from 'pino-pretty';

/** Where events of the server go: one line each, on standard error. */
export type Log = Logger;

/** A log: JSON lines off a terminal or when asked for, readable lines on one. */
export function createLog({ level, json }: { readonly level: string; readonly json: boolean }): Log {
  const readable = process.stderr.isTTY && !json;
  const sink = readable
    ? build({ destination: 2, sync: true, ignore: 'pid,hostname', colorize: !process.env['NO_COLOR'] })
    : // A launcher that does not read the pipe must not stop the server: what it does not take in time is dropped.
      destination({ dest: 2, sync: false, maxLength: 1024 * 1024 });
  return pino({ level, base: null, timestamp: pino.stdTimeFunctions.isoTime }, sink);
}
