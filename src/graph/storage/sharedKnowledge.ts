import { stat } from 'node:fs/promises';
import { createKnowledge, type StringStorage } from './stringStorage.ts';
import type { Knowledge } from './knowledge/knowledge.ts';

/** A file that was changed this recently may change again without another time of change, so what it has is not shared. */
const minAgeMs = 2000;

/** A storage, as long as a session uses it, and the stamps of the files that it was read from. */
interface SharedStorage {
  readonly storage: WeakRef<StringStorage>;
  readonly files: ReadonlyMap<string, string | undefined>;
}

const shared = new Map<string, SharedStorage>();
const reading = new Map<string, Promise<StringStorage>>();
const released = new FinalizationRegistry<string>((key) => {
  if (!shared.get(key)?.storage.deref()) shared.delete(key);
});

/**
 * The KNOWLEDGE storage of a file, which all sessions of the process share until the file changes, and with it what belongs
 * to the storage, such as its index. It is freed when no session uses it any more.
 * @param key what the content depends on: the file, and the limits and the folder of the session.
 * @param read reads the files; calls `onFile` with each one before.
 * @throws what `read` throws.
 */
export async function shareKnowledge(
  key: string,
  read: (onFile: (file: string) => Promise<void>) => Promise<Knowledge>,
): Promise<StringStorage> {
  const current = await findCurrent(key);
  if (current) return current;
  const running = reading.get(key) ?? readAndShare(key, read).finally(() => reading.delete(key));
  reading.set(key, running);
  return running;
}

async function findCurrent(key: string): Promise<StringStorage | undefined> {
  const known = shared.get(key);
  const storage = known?.storage.deref();
  if (!known || !storage) return undefined;
  const areSame = await Promise.all([...known.files].map(async ([file, stamp]) => (await readStamp(file)) === stamp));
  return areSame.every(Boolean) ? storage : undefined;
}

async function readAndShare(key: string, read: Parameters<typeof shareKnowledge>[1]): Promise<StringStorage> {
  const files = new Map<string, string | undefined>();
  const knowledge = await read(async (file) => void files.set(file, await readStamp(file)));
  const storage = createKnowledge(knowledge);
  if (![...files.values()].includes(undefined)) {
    shared.set(key, { storage: new WeakRef(storage), files });
    released.register(storage, key);
  }
  return storage;
}

/** The stamp of a file; undefined when it was changed just now, or cannot be read. */
async function readStamp(file: string): Promise<string | undefined> {
  const info = await stat(file, { bigint: true }).catch(() => undefined);
  if (!info || Date.now() - Number(info.mtimeMs) < minAgeMs) return undefined;
  return `${info.dev}:${info.ino}:${info.size}:${info.mtimeNs}`;
}
