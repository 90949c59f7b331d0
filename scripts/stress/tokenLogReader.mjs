// Reads the token log that hooks/traceTokens.mjs writes in a server.
import { closeSync, openSync, readSync } from 'node:fs';

/** Tails a file of JSON lines. */
export class TokenLogReader {
  #file;
  #position = 0;
  #rest = '';

  constructor(file) {
    this.#file = file;
  }

  /** The environment variables that name the log file to a server. */
  get environment() {
    return { STRESS_TOKEN_LOG: this.#file };
  }

  /** The records that were appended since the last call. */
  readNew() {
    const lines = (this.#rest + this.#readAppended()).split('\n');
    this.#rest = lines.pop() ?? '';
    return lines.map((line) => JSON.parse(line));
  }

  #readAppended() {
    let handle;
    try {
      handle = openSync(this.#file);
    } catch {
      return '';
    }
    const chunks = [];
    const buffer = Buffer.alloc(1 << 20);
    for (let read; (read = readSync(handle, buffer, 0, buffer.length, this.#position)) > 0;) {
      this.#position += read;
      chunks.push(buffer.toString('latin1', 0, read));
    }
    closeSync(handle);
    return chunks.join('');
  }
}
