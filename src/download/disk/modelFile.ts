import { stat, type FileHandle } from 'node:fs/promises';

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
