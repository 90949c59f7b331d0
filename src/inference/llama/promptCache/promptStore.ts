import { randomBytes } from 'node:crypto';
import { chmod, readdir, readFile, rename, rm, stat, utimes } from 'node:fs/promises';
import { join } from 'node:path';
import { makeFolder, writeAtomic } from '../../../base/filesystem.ts';
import type { DiskQuota, QuotaFile } from '../../../base/diskQuota.ts';
import { fileChecksum } from './fileChecksum.ts';
import { parseHeader, promptId, type PromptHeader } from './promptHeader.ts';
import type { NewPrompt, PromptFiles, SavedPrompt } from './promptFiles.ts';

interface StoredPrompt extends SavedPrompt {
  readonly header: PromptHeader;
  readonly file: QuotaFile;
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
 * is read. Other servers may use the folder at the same time: files appear when their header does, and may vanish.
 */
export class PromptStore implements PromptFiles {
  readonly #folder: string;
  readonly #quota: DiskQuota;
  readonly #onWriteError: (error: unknown) => void;
  readonly #prompts = new Map<string, StoredPrompt>();
  readonly #drafts = new Map<string, Draft>();
  #scanned: Promise<void> = Promise.resolve();

  /** @param cache the cache folder. */
  constructor(cache: string, quota: DiskQuota, onWriteError: (error: unknown) => void = () => undefined) {
    this.#folder = join(cache, 'prompts');
    this.#quota = quota;
    this.#onWriteError = onWriteError;
  }

  async list(key: string): Promise<readonly SavedPrompt[]> {
    await (this.#scanned = this.#scanned.then(() => this.#scan()));
    const prompts = [...this.#prompts.values()].filter(({ header }) => header.key === key);
    return prompts.map(({ id, tokens, bytes }) => ({ id, tokens, bytes }));
  }

  async create(prompt: NewPrompt): Promise<{ readonly draft: string; readonly path: string } | undefined> {
    const id = promptId(prompt);
    if (this.#prompts.has(id)) return undefined;
    const draft = `${id}.${randomBytes(6).toString('hex')}`;
    const path = join(this.#folder, `${draft}.part`);
    const drop = async (): Promise<void> => {
      this.#quota.delete(file);
      this.#drafts.delete(draft);
      await remove(path);
    };
    const file: QuotaFile = { bytes: prompt.bytes, inUse: true, drop };
    if (!(await this.#quota.add(file))) return undefined;
    this.#drafts.set(draft, { prompt, path, file });
    try {
      await makeFolder(this.#folder, 0o700);
      return { draft, path };
    } catch (error) {
      await drop();
      this.#onWriteError(error);
      return undefined;
    }
  }

  async finish(draftId: string, error: string | undefined): Promise<SavedPrompt | undefined> {
    const draft = this.#drafts.get(draftId);
    if (!draft) return undefined;
    try {
      if (error !== undefined) throw new Error(error);
      const { prompt, path } = draft;
      await chmod(path, 0o600);
      const { size: bytes } = await stat(path);
      const { key, tokens } = prompt;
      const header: PromptHeader = { version: 2, key, tokens, bytes, checksum: await fileChecksum(path) };
      const id = promptId(header);
      await rename(path, this.#pathOf(id, 'state'));
      await writeAtomic(this.#pathOf(id, 'json'), JSON.stringify(header));
      await chmod(this.#pathOf(id, 'json'), 0o600);
      await draft.file.drop();
      return await this.#add(id, header);
    } catch (failure) {
      await draft.file.drop();
      this.#onWriteError(failure);
      return undefined;
    }
  }

  async open(id: string): Promise<string | undefined> {
    const prompt = this.#prompts.get(id);
    if (!prompt) return undefined;
    prompt.readers++;
    prompt.file.inUse = true;
    const path = this.#pathOf(id, 'state');
    const isSame = (await fileChecksum(path).catch(() => '')) === prompt.header.checksum;
    if (!isSame) {
      await prompt.file.drop();
      return undefined;
    }
    this.#quota.touch(prompt.file);
    // The next server evicts what was not used for the longest time.
    await utimes(this.#pathOf(id, 'json'), new Date(), new Date()).catch(() => undefined);
    return path;
  }

  async close(id: string, isUsable: boolean): Promise<void> {
    const prompt = this.#prompts.get(id);
    if (!prompt) return;
    prompt.readers--;
    prompt.file.inUse = prompt.readers > 0;
    if (!isUsable) await prompt.file.drop();
  }

  /** Adds a saved prompt; undefined when there is no room for it: then it is deleted. */
  async #add(id: string, header: PromptHeader): Promise<SavedPrompt | undefined> {
    const { tokens, bytes } = header;
    const drop = async (): Promise<void> => {
      this.#quota.delete(file);
      this.#prompts.delete(id);
      await this.#remove(id);
    };
    const file: QuotaFile = { bytes, inUse: false, drop };
    if (await this.#quota.add(file)) {
      this.#prompts.set(id, { id, tokens, bytes, header, file, readers: 0 });
      return { id, tokens, bytes };
    }
    await this.#remove(id);
    return undefined;
  }

  /** Finds what other servers have saved or deleted, and deletes what is no saved prompt. */
  async #scan(): Promise<void> {
    const names = new Set(await readdir(this.#folder).catch(() => []));
    for (const [id, { file }] of this.#prompts) if (!names.has(`${id}.json`)) await file.drop();
    const found: { readonly id: string; readonly header: PromptHeader; readonly usedMs: number }[] = [];
    for (const name of names) {
      const path = join(this.#folder, name);
      const id = name.slice(0, idLength);
      if (!namePattern.test(name) || this.#prompts.has(id)) continue;
      const usedMs = await stat(path).then(
        ({ mtimeMs }) => mtimeMs,
        () => Date.now(),
      );
      const header = name === `${id}.json` ? await this.#readHeader(id) : undefined;
      if (header) found.push({ id, header, usedMs });
      else if (name === `${id}.json`) await this.#remove(id);
      // What is being written may have no header yet.
      else if (!names.has(`${id}.json`) && Date.now() - usedMs > abandonedAfterMs) await remove(path);
    }
    for (const { id, header } of found.toSorted((a, b) => a.usedMs - b.usedMs)) await this.#add(id, header);
  }

  async #readHeader(id: string): Promise<PromptHeader | undefined> {
    const text = await readFile(this.#pathOf(id, 'json'), 'utf8').catch(() => '');
    const header = parseHeader(text, id);
    const size = await stat(this.#pathOf(id, 'state')).catch(() => undefined);
    return header && header.bytes === size?.size ? header : undefined;
  }

  async #remove(id: string): Promise<void> {
    await remove(this.#pathOf(id, 'json'));
    await remove(this.#pathOf(id, 'state'));
  }

  #pathOf(id: string, extension: 'state' | 'json'): string {
    return join(this.#folder, `${id}.${extension}`);
  }
}

/** What cannot be removed now is found by the next scan. */
const remove = (path: string): Promise<void> => rm(path, { force: true }).catch(() => undefined);

const idLength = 64;
const namePattern = /^[0-9a-f]{64}\.(state|json|json\.new|[0-9a-f]{12}\.part)$/;
const abandonedAfterMs = 3_600_000;
