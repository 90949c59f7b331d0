import { createHash } from 'node:crypto';
import { join } from 'node:path';
import { createGrowing, type GrowingStorage } from './growingStorage.ts';
import type { KnowledgeEntry } from './knowledge/knowledge.ts';
import { MemoryFile } from './memoryFile.ts';

/** A storage that is kept, in use by a session until it is released. */
export interface KeptStorage {
  readonly storage: GrowingStorage;
  release(): Promise<void>;
}

interface OpenStorage {
  readonly opening: Promise<{ readonly storage: GrowingStorage; close(): Promise<void> }>;
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
    async use(key: string, name: string, first: readonly KnowledgeEntry[]): Promise<KeptStorage> {
      // Neither can lead out of the folder, and the key is a secret.
      const id = createHash('sha256')
        .update(JSON.stringify([key, name]))
        .digest('hex');
      const file = new MemoryFile(join(folder, `${id}.jsonl`), name, maxBytes);
      const open = async () => {
        await closings.get(id);
        return openStorage(file, first);
      };
      const opened = inUse.get(id) ?? { opening: open(), users: 0 };
      inUse.set(id, opened);
      opened.users++;
      const release = async (): Promise<void> => {
        const { storage, close } = (await opened.opening.catch(() => undefined)) ?? {};
        await storage?.idle();
        if (--opened.users > 0) return;
        inUse.delete(id);
        const closing = close?.();
        if (closing) closings.set(id, closing);
        await closing;
        closings.delete(id);
      };
      try {
        return { storage: (await opened.opening).storage, release };
      } catch (error) {
        await release();
        throw error;
      }
    },
  };
}

async function openStorage(file: MemoryFile, first: readonly KnowledgeEntry[]) {
  const close = (): Promise<void> => file[Symbol.asyncDispose]();
  try {
    const entries = await file.open();
    const storage = createGrowing(entries ?? [], (...change) => file.write(...change));
    if (!entries && first.length > 0)
      await storage.change(
        () => ({ added: first, removed: [] }),
        () => undefined,
      );
    return { storage, close };
  } catch (error) {
    await close();
    throw error;
  }
}
