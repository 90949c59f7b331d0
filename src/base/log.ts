import { createRequire } from 'node:module';
import { pino, type Logger } from 'pino';
import type * as PinoPretty from 'pino-pretty';
import { LogSink } from './logSink.ts';

/** The log of the server (pino): one line per event, to stderr. */
export type Log = Logger;

/** Creates a log: readable lines on a terminal, JSON lines elsewhere or when `json` is set. */
export function createLog({ level, json }: { readonly level: string; readonly json: boolean }): Log {
  const options = { level, base: null, timestamp: pino.stdTimeFunctions.isoTime };
  const sink = stderrSink();
  if (!process.stderr.isTTY || json) return pino(options, sink);
  const { prettyFactory } = loadPinoPretty();
  const prettify = prettyFactory({ ignore: 'pid,hostname', colorize: !process.env['NO_COLOR'] });
  return pino(options, { write: (line) => sink.write(prettify(line)) });
}

// Loaded on demand: no program reads lines for people, and most servers are started by a program.
const loadPinoPretty = (): typeof PinoPretty => createRequire(import.meta.url)('pino-pretty');

let sharedSink: LogSink | undefined;

// One for all logs of the process. pino's own destination ends the process when a write fails, and on a full disk repeats
// the write for ever as it ends.
function stderrSink(): LogSink {
  if (sharedSink) return sharedSink;
  const sink = new LogSink(toLostLine);
  process.on('exit', () => sink.flushSync());
  return (sharedSink = sink);
}

const warnLevel = pino.levels.values['warn'];

const toLostLine = (lines: number): string =>
  `${JSON.stringify({ level: warnLevel, time: new Date().toISOString(), lines, msg: 'log lines were lost: they could not be written' })}\n`;
