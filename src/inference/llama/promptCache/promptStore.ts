import { createHash } from 'node:crypto';
import { chmod, readFile, rename, stat } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { DiskCache, type DiskQuota, type QuotaFile } from '../../../base/diskCache.ts';
import { writeAtomic } from '../../../base/filesystem.ts';
import { isObject } from '../../../base/jsonTypes.ts';
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

interface Draft {
  readonly prompt: NewPrompt;
  readonly path: string;
  readonly file: QuotaFile;
}

/**
 * The prompt cache on disk: the states of the heads of prompts, kept over restarts in the folder `prompts` of the cache folder.
 * Each is a file of llama.cpp (`ID.state`) and a header (`ID.json`) with the checksum of that file, which is compared before it
 * is read.
 */
export class PromptStore implements PromptFiles {
  readonly #quota: DiskQuota;
  readonly #onWriteError: (error: unknown) => void;
  readonly #cache: DiskCache<StoredPrompt>;
  readonly #drafts = new Map<string, Draft>();

  /** @param cache the cache folder. */
  constructor(cache: string, quota: DiskQuota, onWriteError: (error: unknown) => void = () => undefined) {
    this.#quota = quota;
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

  async create(prompt: NewPrompt): Promise<{ readonly draft: string; readonly path: string } | undefined> {
    const id = promptId(prompt);
    if (this.#cache.entries.has(id)) return undefined;
    try {
      const path = await this.#cache.createDraftPath(id);
      const draft = basename(path, '.part');
      const onDrop = (): void => void this.#drafts.delete(draft);
      const file = await this.#quota.add({ paths: [path], bytes: prompt.bytes, inUse: true, onDrop });
      if (!file) return undefined;
      this.#drafts.set(draft, { prompt, path, file });
      return { draft, path };
    } catch (error) {
      this.#onWriteError(error);
      return undefined;
    }
  }

  async finish(draftId: string, error: string | undefined): Promise<SavedPrompt | undefined> {
    const draft = this.#drafts.get(draftId);
    if (!draft) return undefined;
    const { prompt, path } = draft;
    const id = promptId(prompt);
    let isPlaced = false;
    try {
      if (error !== undefined) throw new Error(error);
      await chmod(path, 0o600);
      const { size: bytes } = await stat(path);
      const { key, tokens } = prompt;
      const header: PromptHeader = { version: 2, key, tokens, bytes, checksum: await fileChecksum(path) };
      // Another engine process may have saved it meanwhile.
      if (this.#cache.entries.has(id)) return savedPrompt(id, header);
      await rename(path, this.#cache.pathOf(id, 'state'));
      isPlaced = true;
      await writeAtomic(this.#cache.pathOf(id), JSON.stringify(header));
      await chmod(this.#cache.pathOf(id), 0o600);
      await draft.file.drop();
      if (await this.#cache.add(id, foundPrompt(header))) return savedPrompt(id, header);
    } catch (failure) {
      this.#onWriteError(failure);
    } finally {
      await draft.file.drop();
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
