// Samples memory and cache folder size of a server during a stress test.
import { readProcStats } from './procStats.mjs';
import { listFiles } from './stateFiles.mjs';

const sampleIntervalMs = 250;

/** Samples a server until `stop`. */
export class ResourceSampler {
  #server;
  #timer;
  #samples = [];
  #maxFolderBytes = 0;
  #busy = false;

  constructor(server) {
    this.#server = server;
    this.#timer = setInterval(() => void this.#sample(), sampleIntervalMs);
  }

  /** Stops; returns the figures in megabytes (of 10^6 bytes) and the maximum size of the cache folder in bytes. */
  async stop() {
    clearInterval(this.#timer);
    await this.#sample();
    const megabytes = this.#samples.map(({ bytes }) => Math.round(bytes / 1e6));
    const memory = { first: megabytes[0], most: Math.max(...megabytes), last: megabytes.at(-1) };
    const stats = { ...(megabytes.length > 0 && { memoryMegabytes: memory }) };
    const folder = this.#server.cacheFolder && { cacheMegabytesAtMost: this.#maxFolderBytes / 1e6 };
    return { figures: { ...stats, ...folder }, maxFolderBytes: this.#maxFolderBytes };
  }

  async #sample() {
    if (this.#busy) return;
    this.#busy = true;
    const { pid, cacheFolder } = this.#server;
    const seen = await readProcStats(pid);
    if (seen) this.#samples.push(seen);
    const files = cacheFolder === undefined ? [] : await listFiles(cacheFolder);
    const bytes = files.reduce((sum, file) => sum + file.bytes, 0);
    this.#maxFolderBytes = Math.max(this.#maxFolderBytes, bytes);
    this.#busy = false;
  }
}
