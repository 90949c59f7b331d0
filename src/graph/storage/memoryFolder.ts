import { createHash } from 'node:crypto';
import { join } from 'node:path';
import { createGrowing, type GrowingStorage } from './growingStorage.ts';
import type { KnowledgeEntry } from './knowledge/knowledge.ts';
import { MemoryFile } from './memoryFile.ts';

/** A storage that is kept, in use by a session until it is released. */
export type KeptStorage = Awaited<ReturnType<MemoryFolder['use']>>;

interface OpenStorage {
  readonly file: MemoryFile;
  readonly opening: Promise<GrowingStorage>;
  users: number;
}

export type MemoryFolder = ReturnType<typeof memoryFolder>;

/**
 * Storages that are kept: one file for each name and key. Sessions of a server with the same key share a storage.
 * @param maxBytes of one file.
 */
export function memoryFolder(folder: string, maxBytes: number) {
  const inUse = new Map<string, OpenStorage>();
  const closings = new Map<string, Promise<void>>();
  return {
    /**
     * Opens the storage of a name and a key.
     * @param first the entries of a storage that is not there yet.
     * @throws Fault STORAGE_NAME_IN_USE when another server has opened it, and as `MemoryFile.open` and `write`.
     */
    async use(key: string, name: string, first: readonly KnowledgeEntry[]) {
      // Neither can lead out of the folder, and the key is a secret.
      const id = createHash('sha256')
        .update(JSON.stringify([key, name]))
        .digest('hex');
      const file = new MemoryFile(join(folder, `${id}.jsonl`), name, maxBytes);
      const open = async (): Promise<GrowingStorage> => {
        await closings.get(id);
        const entries = await file.open();
        const storage = createGrowing(entries ?? [], (...change) => file.write(...change));
        await storage.change(
          () => ({ added: entries ? [] : first, removed: [] }),
          () => undefined,
        );
        return storage;
      };
      const opened = inUse.get(id) ?? { file, opening: open(), users: 0 };
      inUse.set(id, opened);
      opened.users++;
      const release = async (): Promise<void> => {
        const storage = await opened.opening.catch(() => undefined);
        await storage?.idle();
        if (--opened.users > 0) return;
        inUse.delete(id);
        const closing = opened.file[Symbol.asyncDispose]();
        closings.set(id, closing);
        await closing;
        closings.delete(id);
      };
      try {
        return { storage: await opened.opening, release };
      } catch (error) {
        await release();
        throw error;
      }
    },
  };
}
