import { open, rename, stat, type FileHandle } from 'node:fs/promises';
import { dirname } from 'node:path';

/** Writes a file so that a reader sees the old text or the new one, and never half of it. */
export async function writeAtomic(path: string, text: string): Promise<void> {
  const draft = `${path}.new`;
  const file = await open(draft, 'w');
  try {
    await file.writeFile(text);
    await file.sync();
  } finally {
    await file.close();
  }
  await rename(draft, path);
  await syncFolder(dirname(path));
}

/** Makes names that were changed in a folder outlast a power cut, where the system knows how. */
export async function syncFolder(folder: string): Promise<void> {
  const handle = await open(folder, 'r').catch(() => undefined);
  await handle?.sync().catch(() => undefined);
  await handle?.close();
}

/** What every model file begins with. */
export const magic = 'GGUF';

/** What a file begins with, as many characters as `magic` has. */
export async function readMagic(file: FileHandle): Promise<string> {
  const { buffer, bytesRead } = await file.read(Buffer.alloc(magic.length), 0, magic.length, 0);
  return buffer.toString('latin1', 0, bytesRead);
}

/** Bytes of a file; undefined when there is none. */
export async function fileSize(path: string): Promise<number | undefined> {
  const found = await stat(path).catch(() => undefined);
  return found?.isFile() ? found.size : undefined;
}
