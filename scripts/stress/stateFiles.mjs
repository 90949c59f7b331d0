// State files of sequences as llama.cpp writes them: "ggsq", a version, the number of tokens, the tokens, and then the cache.
import { open, readdir, stat } from 'node:fs/promises';
import { join } from 'node:path';

const magic = 0x67677371;
const headBytes = 12;

/** The tokens of a state file; undefined for a file that is none, is not whole yet, or is gone. */
export async function tokensIn(file) {
  const handle = await open(file).catch(() => undefined);
  if (!handle) return undefined;
  try {
    const head = await piece(handle, 0, headBytes);
    if (head.length < headBytes || head.readUInt32LE(0) !== magic) return undefined;
    const count = head.readUInt32LE(8);
    const body = await piece(handle, headBytes, 4 * count);
    if (body.length < 4 * count) return undefined;
    return Array.from({ length: count }, (_, index) => body.readInt32LE(4 * index));
  } finally {
    await handle.close();
  }
}

async function piece(handle, position, length) {
  const { buffer, bytesRead } = await handle.read(Buffer.alloc(length), 0, length, position);
  return buffer.subarray(0, bytesRead);
}

/** All files below a folder, with their sizes; none where there is no folder. */
export async function filesBelow(folder) {
  const entries = await readdir(folder, { recursive: true }).catch(() => []);
  const found = await Promise.all(
    entries.map(async (entry) => {
      const path = join(folder, entry);
      const facts = await stat(path).catch(() => undefined);
      return facts?.isFile() ? [{ path, bytes: facts.size, changed: facts.mtimeMs }] : [];
    }),
  );
  return found.flat();
}

/** Reads each state file of a folder once in each of its versions. */
export class StateWatch {
  #folder;
  #reader;
  #seen = new Set();
  #looking = Promise.resolve();

  /** @param folder undefined: there is nothing to watch. */
  constructor(folder, reader) {
    this.#folder = folder;
    this.#reader = reader;
  }

  /** Tells the text of every state that is new since the last look. */
  look(tell) {
    if (this.#folder === undefined) return Promise.resolve();
    this.#looking = this.#looking.then(() => this.#look(tell));
    return this.#looking;
  }

  async #look(tell) {
    for (const { path, bytes, changed } of await filesBelow(this.#folder)) {
      const version = `${path} ${bytes} ${changed}`;
      if (this.#seen.has(version)) continue;
      const tokens = await tokensIn(path);
      if (!tokens) continue;
      this.#seen.add(version);
      tell(this.#reader.text(tokens));
    }
  }
}
