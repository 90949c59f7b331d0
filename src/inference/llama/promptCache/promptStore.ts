import { createHash } from 'node:crypto';
import { chmod, readFile, rename, stat } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { DiskCache, type DiskQuota } from '../../../base/diskCache.ts';
import { makeFolder, writeAtomic } from '../../../base/filesystem.ts';
import { isObject } from '../../../base/jsonTypes.ts';
import type { StateFile } from '../kvCache/stateFiles.ts';
import { fileChecksum } from './fileChecksum.ts';
import type { NewPrompt, PromptFiles, SavedPrompt } from './promptFiles.ts';

/** The header of a saved prompt: a JSON file with the name of that of the state. */
interface PromptHeader {
  readonly version: 2;
  readonly key: string;
  readonly tokens: readonly number[];
  /** Of the file of the state. */
  readonly bytes: number;
  /** Of the file of the state: see `fileChecksum`. */
  readonly checksum: string;
}

interface StoredPrompt {
  readonly header: PromptHeader;
  readers: number;
}

/**
 * The prompt cache on disk: the states of the heads of prompts, kept over restarts in the folder `prompts` of the cache folder.
 * Each is a file of llama.cpp (`ID.state`) and a header (`ID.json`) with the checksum of that file, which is compared before it
 * is read.
 */
export class PromptStore implements PromptFiles {
  readonly #onWriteError: (error: unknown) => void;
  readonly #cache: DiskCache<StoredPrompt>;
  #saved: Promise<unknown> = Promise.resolve();

  /** @param cache the cache folder. */
  constructor(cache: string, quota: DiskQuota, onWriteError: (error: unknown) => void = () => undefined) {
    this.#onWriteError = onWriteError;
    this.#cache = new DiskCache({
      folder: join(cache, 'prompts'),
      quota,
      extensions: ['json', 'state'],
      read: async (id) => {
        const header = parseHeader(await readFile(this.#cache.pathOf(id), 'utf8').catch(() => ''), id);
        const file = await stat(this.#cache.pathOf(id, 'state')).catch(() => undefined);
        return header && header.bytes === file?.size ? foundPrompt(header) : undefined;
      },
    });
  }

  async list(key: string): Promise<readonly SavedPrompt[]> {
    await this.#cache.scan();
    return [...this.#cache.entries]
      .filter(([, { content }]) => content.header.key === key)
      .map(([id, { content }]) => savedPrompt(id, content.header));
  }

  // One after the other: two engine processes may save the same prompt.
  save(prompt: NewPrompt, file: StateFile): Promise<SavedPrompt | undefined> {
    const saving = this.#saved.then(() => this.#save(prompt, file));
    this.#saved = saving;
    return saving;
  }

  async #save(prompt: NewPrompt, file: StateFile): Promise<SavedPrompt | undefined> {
    const id = promptId(prompt);
    let isPlaced = false;
    try {
      const { size: bytes } = await stat(file.path);
      const header: PromptHeader = { version: 2, ...prompt, bytes, checksum: await fileChecksum(file.path) };
      if (this.#cache.entries.has(id)) return savedPrompt(id, header);
      await makeFolder(dirname(this.#cache.pathOf(id)), 0o700);
      await chmod(file.path, 0o600);
      await rename(file.path, this.#cache.pathOf(id, 'state'));
      isPlaced = true;
      await writeAtomic(this.#cache.pathOf(id), JSON.stringify(header));
      await chmod(this.#cache.pathOf(id), 0o600);
      await file.drop();
      if (await this.#cache.add(id, foundPrompt(header))) return savedPrompt(id, header);
    } catch (failure) {
      this.#onWriteError(failure);
    }
    if (isPlaced) await this.#cache.remove(id);
    return undefined;
  }

  async open(id: string): Promise<string | undefined> {
    const entry = this.#cache.entries.get(id);
    if (!entry) return undefined;
    entry.content.readers++;
    entry.inUse = true;
    const path = this.#cache.pathOf(id, 'state');
    const isSame = (await fileChecksum(path).catch(() => '')) === entry.content.header.checksum;
    if (!isSame) {
      await entry.drop();
      return undefined;
    }
    await this.#cache.touch(id);
    return path;
  }

  async close(id: string, isUsable: boolean): Promise<void> {
    const entry = this.#cache.entries.get(id);
    if (!entry) return;
    entry.content.readers--;
    entry.inUse = entry.content.readers > 0;
    if (!isUsable) await entry.drop();
  }
}

const foundPrompt = (header: PromptHeader) => ({ bytes: header.bytes, content: { header, readers: 0 } });

const savedPrompt = (id: string, { tokens, bytes }: PromptHeader): SavedPrompt => ({ id, tokens, bytes });

/** The name of a saved prompt: two prompts of the same key and tokens have the same. */
const promptId = ({ key, tokens }: Pick<PromptHeader, 'key' | 'tokens'>): string =>
  createHash('sha256')
    .update(JSON.stringify([key, tokens]))
    .digest('hex');

/** Reads a header; undefined when the text is no header of the prompt with this name. */
function parseHeader(text: string, id: string): PromptHeader | undefined {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    return undefined;
  }
  if (!isObject(value)) return undefined;
  const { version, key, tokens, bytes, checksum } = value;
  if (version !== 2 || typeof key !== 'string' || typeof bytes !== 'number' || typeof checksum !== 'string')
    return undefined;
  if (!Array.isArray(tokens) || !tokens.every((token): token is number => Number.isInteger(token))) return undefined;
  return promptId({ key, tokens }) === id ? { version, key, tokens, bytes, checksum } : undefined;
}
