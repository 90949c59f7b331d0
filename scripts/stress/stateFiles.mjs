// Reads llama.cpp's sequence state files: "ggsq", a version, the number of tokens, the tokens, then the KV cache.
import { open, readdir, stat } from 'node:fs/promises';
import { join } from 'node:path';

const magic = 0x67677371;
const headerBytes = 12;

/**
 * Reads the tokens of a state file; undefined for another file, an incomplete one, or none.
 * @param {string} file
 * @returns {Promise<import('node-llama-cpp').Token[] | undefined>}
 */
export async function readStateTokens(file) {
  const handle = await open(file).catch(() => undefined);
  if (!handle) return undefined;
  try {
    const head = await readRange(handle, 0, headerBytes);
    if (head.length < headerBytes || head.readUInt32LE(0) !== magic) return undefined;
    const count = head.readUInt32LE(8);
    const body = await readRange(handle, headerBytes, 4 * count);
    if (body.length < 4 * count) return undefined;
    return Array.from({ length: count }, (_, index) => body.readInt32LE(4 * index));
  } finally {
    await handle.close();
  }
}

async function readRange(handle, position, length) {
  const { buffer, bytesRead } = await handle.read(Buffer.alloc(length), 0, length, position);
  return buffer.subarray(0, bytesRead);
}

/** Lists all files below a folder with their sizes; none when the folder is missing. */
export async function listFiles(folder) {
  const entries = await readdir(folder, { recursive: true }).catch(() => []);
  const found = await Promise.all(
    entries.map(async (entry) => {
      const path = join(folder, entry);
      const stats = await stat(path).catch(() => undefined);
      return stats?.isFile() ? [{ path, bytes: stats.size, changed: stats.mtimeMs }] : [];
    }),
  );
  return found.flat();
}

/** Watches a folder of state files; reads each version of each file once. */
export class StateFileWatcher {
  #folder;
  #reader;
  #seen = new Set();
  #pending = Promise.resolve();

  /** @param folder undefined: nothing to watch. */
  constructor(folder, reader) {
    this.#folder = folder;
    this.#reader = reader;
  }

  /** Calls `onText` with the text and the path of each state that is new since the last call. */
  readNew(onText) {
    if (this.#folder === undefined) return Promise.resolve();
    this.#pending = this.#pending.then(() => this.#readNew(onText));
    return this.#pending;
  }

  async #readNew(onText) {
    for (const { path, bytes, changed } of await listFiles(this.#folder)) {
      const version = `${path} ${bytes} ${changed}`;
      if (this.#seen.has(version)) continue;
      const tokens = await readStateTokens(path);
      if (!tokens) continue;
      this.#seen.add(version);
      onText(this.#reader.text(tokens), path);
    }
  }
}
