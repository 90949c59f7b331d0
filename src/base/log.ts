import { closeSync, mkdirSync, openSync, write, writeSync } from 'node:fs';
import { basename, dirname, sep } from 'node:path';
import { promisify } from 'node:util';
import { createRequire } from 'node:module';
import type * as RotatingFileStream from 'rotating-file-stream';
import { type Logger, type LoggerOptions, pino } from 'pino';
import { describeFsError } from './filesystem.ts';
import type * as PinoPretty from 'pino-pretty';

/** The log of the server (pino): one line per event, to stderr or to a file. */
export type Log = Logger;

export interface LogOptions {
  readonly level: string;
  readonly json: boolean;
  /** The file; absent or "": stderr. */
  readonly file?: string;
}

/** Readable lines on a terminal, JSON lines elsewhere or by `json`. A file that cannot be written: stderr. */
export function createLog({ level, json, file = '' }: LogOptions): Log {
  const options = { level, base: null, timestamp: pino.stdTimeFunctions.isoTime };
  const problem = file === '' ? undefined : fileProblem(file);
  if (file !== '' && problem === undefined) return pino(options, fileSink(file));
  const log = logToStderr(options, json);
  if (problem !== undefined) log.warn({ file, reason: problem }, 'the log file cannot be written: the log is here');
  return log;
}

function logToStderr(options: LoggerOptions, json: boolean): Log {
  const sink = stderrSink();
  if (!process.stderr.isTTY || json) return pino(options, sink);
  const { prettyFactory } = load('pino-pretty') as typeof PinoPretty;
  const prettify = prettyFactory({ ignore: 'pid,hostname', colorize: !process.env['NO_COLOR'] });
  return pino(options, { write: (line) => sink.write(prettify(line)) });
}

// On demand: few servers need them.
const load = createRequire(import.meta.url);
let sharedSink: LogSink | undefined;

// One for all logs of the process. pino's own destination ends the process when a write fails, and on a full disk repeats
// the write for ever as it ends.
function stderrSink(): LogSink {
  if (sharedSink) return sharedSink;
  const sink = new LogSink(toLostLine);
  process.on('exit', () => sink.flushSync());
  return (sharedSink = sink);
}

function fileProblem(file: string): string | undefined {
  try {
    mkdirSync(dirname(file), { recursive: true });
    closeSync(openSync(file, 'a'));
    return undefined;
  } catch (error) {
    return describeFsError(error);
  }
}

/** Writes to a file. At 10 MB it is renamed to NAME.1, that to NAME.2, and so on: these are five files at most. */
function fileSink(file: string): LogSink {
  const { createStream } = load('rotating-file-stream') as typeof RotatingFileStream;
  let stream: RotatingFileStream.RotatingFileStream | undefined;
  const open = (): RotatingFileStream.RotatingFileStream =>
    createStream(basename(file), { path: dirname(file) + sep, size: '10M', rotate: 4 }).on('error', () => {
      // The next write opens it again.
      stream = undefined;
    });
  const writeToFile: WriteBytes = (bytes) =>
    new Promise((resolve, reject) => {
      stream ??= open();
      stream.write(bytes, (error) => (error ? reject(error) : resolve(bytes.byteLength)));
    });
  const sink = new LogSink(toLostLine, writeToFile);
  process.on('exit', () => sink.flushSync(() => openSync(file, 'a')));
  return sink;
}

const warnLevel = pino.levels.values['warn'];

const toLostLine = (lines: number): string =>
  `${JSON.stringify({ level: warnLevel, time: new Date().toISOString(), lines, msg: 'log lines were lost: they could not be written' })}\n`;

/** Writes as much of the bytes as the file takes. Returns how many. @throws the system's error. */
export type WriteBytes = (bytes: Uint8Array) => Promise<number>;

const writeAsync = promisify(write);
const stderrFd = 2;
const writeToStderr: WriteBytes = async (bytes) => (await writeAsync(stderrFd, bytes)).bytesWritten;

/** Lines that wait take at most this many bytes; beyond it, new ones are lost. */
const maxWaitingBytes = 2 ** 20;

/**
 * Where log lines are written to. A write that fails (full disk, closed pipe, lost terminal) never ends the process and
 * never blocks it: the lines wait, and are written with the next one that can be. How many were lost is written then, too.
 */
export class LogSink {
  readonly #write: WriteBytes;
  readonly #toLostLine: (count: number) => string;
  #waiting: Uint8Array[] = [];
  #waitingBytes = 0;
  #lostLines = 0;
  #isWriting = false;
  #written: Promise<void> = Promise.resolve();

  /** @param toLostLine makes the line that reports how many lines were lost. */
  constructor(toLostLine: (count: number) => string, writeBytes = writeToStderr) {
    this.#toLostLine = toLostLine;
    this.#write = writeBytes;
  }

  /** Takes over a line; does not wait until it is written. */
  write(line: string): void {
    const bytes = Buffer.from(line);
    if (this.#waitingBytes + bytes.byteLength > maxWaitingBytes) this.#lostLines++;
    else this.#enqueue(bytes);
    if (!this.#isWriting) this.#written = this.#writeAll();
  }

  /** Resolves when nothing is being written: all lines are written, or the last write has failed. */
  async idle(): Promise<void> {
    await this.#written;
  }

  /** Writes what waits, at the end of the process: at the first error the rest is lost. */
  flushSync(open = (): number => stderrFd): void {
    if (this.#waiting.length === 0) return;
    try {
      const fd = open();
      for (let bytes = this.#take(); bytes.byteLength > 0; bytes = bytes.subarray(writeSync(fd, bytes)));
    } catch {
      return;
    }
  }

  #enqueue(bytes: Uint8Array): void {
    this.#waiting.push(bytes);
    this.#waitingBytes += bytes.byteLength;
  }

  #take(): Uint8Array {
    const bytes = Buffer.concat(this.#waiting);
    this.#waiting = [];
    return bytes;
  }

  async #writeAll(): Promise<void> {
    this.#isWriting = true;
    let isFailed = false;
    while (this.#waiting.length > 0 && !isFailed) {
      const bytes = this.#take();
      const written = await this.#write(bytes).catch(() => 0);
      isFailed = written === 0;
      this.#waitingBytes -= written;
      if (written < bytes.byteLength) this.#waiting.unshift(bytes.subarray(written));
      else this.#reportLost();
    }
    this.#isWriting = false;
  }

  #reportLost(): void {
    if (this.#lostLines === 0) return;
    this.#enqueue(Buffer.from(this.#toLostLine(this.#lostLines)));
    this.#lostLines = 0;
  }
}
