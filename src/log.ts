import { destination, pino, type Logger } from 'pino';
import { build } from 'pino-pretty';

/** The log of the server (pino): one line per event, to stderr. */
export type Log = Logger;

/** Creates a log: readable lines on a terminal, JSON lines elsewhere or when `json` is set. */
export function createLog({ level, json }: { readonly level: string; readonly json: boolean }): Log {
  const readable = process.stderr.isTTY && !json;
  const sink = readable
    ? build({ destination: 2, sync: true, ignore: 'pid,hostname', colorize: !process.env['NO_COLOR'] })
    : // A launcher that does not read the pipe must not block the server: beyond maxLength bytes, lines are dropped.
      destination({ dest: 2, sync: false, maxLength: 1024 * 1024 });
  return pino({ level, base: null, timestamp: pino.stdTimeFunctions.isoTime }, sink);
}
