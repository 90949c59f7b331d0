import { write, writeSync } from 'node:fs';
import { promisify } from 'node:util';

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
  flushSync(fd = stderrFd): void {
    try {
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
