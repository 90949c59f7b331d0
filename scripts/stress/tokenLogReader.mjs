// The near end of what overhear.mjs writes down in a server.
import { closeSync, openSync, readSync } from 'node:fs';

/** Reads a file of JSON lines that grows, from where it last stopped. */
export class Ear {
  #file;
  #position = 0;
  #rest = '';

  constructor(file) {
    this.#file = file;
  }

  /** Where a server finds in its environment what to write to. */
  get environment() {
    return { SOAK_OVERHEARD: this.#file };
  }

  /** What was overheard since it was last asked. */
  heard() {
    const lines = (this.#rest + this.#more()).split('\n');
    this.#rest = lines.pop() ?? '';
    return lines.map((line) => JSON.parse(line));
  }

  #more() {
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
