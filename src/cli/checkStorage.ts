import { basename, dirname, resolve } from 'node:path';
import { Fault } from '../protocol/fault.ts';
import { SessionStorages } from '../graph/storage/sessionStorages.ts';
import { StorageRoot } from '../graph/storage/storageRoot.ts';

/** Whether a file that a command names is a KNOWLEDGE storage, not a graph. */
export const isStorageFile = (path: string): boolean => path.endsWith('.kb.json');

/** Why a storage file cannot be read, with line and column; undefined when it is valid. */
export async function checkStorage(path: string): Promise<Fault | undefined> {
  const storages = new SessionStorages(new StorageRoot(dirname(resolve(path))), Infinity);
  try {
    await storages.find(basename(path));
    return undefined;
  } catch (error) {
    if (error instanceof Fault) return error;
    throw error;
  }
}
