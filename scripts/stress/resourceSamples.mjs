// Memory and cache folder of a server, sampled as a trial goes on.
import { lookAt } from './procStats.mjs';
import { filesBelow } from './stateFiles.mjs';

const everyMs = 250;

/** Samples a server until `end`. */
export class Samples {
  #server;
  #timer;
  #looks = [];
  #largestFolder = 0;
  #busy = false;

  constructor(server) {
    this.#server = server;
    this.#timer = setInterval(() => void this.#look(), everyMs);
  }

  /** Stops, and gives the figures in megabytes (of 10^6 bytes) and the most that the folder had in bytes. */
  async end() {
    clearInterval(this.#timer);
    await this.#look();
    const megabytes = this.#looks.map(({ bytes }) => Math.round(bytes / 1e6));
    const memory = { first: megabytes[0], most: Math.max(...megabytes), last: megabytes.at(-1) };
    const stats = { ...(megabytes.length > 0 && { memoryMegabytes: memory }) };
    const folder = this.#server.cacheFolder && { cacheMegabytesAtMost: this.#largestFolder / 1e6 };
    return { figures: { ...stats, ...folder }, largestFolder: this.#largestFolder };
  }

  async #look() {
    if (this.#busy) return;
    this.#busy = true;
    const { pid, cacheFolder } = this.#server;
    const seen = await lookAt(pid);
    if (seen) this.#looks.push(seen);
    const files = cacheFolder === undefined ? [] : await filesBelow(cacheFolder);
    const bytes = files.reduce((sum, file) => sum + file.bytes, 0);
    this.#largestFolder = Math.max(this.#largestFolder, bytes);
    this.#busy = false;
  }
}
