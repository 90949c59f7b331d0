import { constants } from 'node:fs';
import { type FileHandle, mkdir, mkdtemp, open, readFile, rename, rmdir, stat, unlink } from 'node:fs/promises';
import { homedir } from 'node:os';
import { basename, dirname, join, resolve } from 'node:path';

/** A path below a folder, absolute; `~` at its start is the home folder of the user. */
export const resolveWithHome = (folder: string, path: string): string =>
  /^~(?:[/\\]|$)/.test(path) ? join(homedir(), path.slice(1)) : resolve(folder, path);

/**
 * Creates a folder and its missing parents, like `mkdir -p`. Node's own `recursive` option is not used: it retries
 * forever where the system answers ENOENT below an existing folder, as in /proc, and it reports ENOENT for a read-only disk.
 * @throws the system's error, whose path is the folder that could not be created.
 */
export async function makeFolder(folder: string, mode = 0o777): Promise<void> {
  const path = resolve(folder);
  if (await isFolder(path)) return;
  const parent = dirname(path);
  if (parent !== path) await makeFolder(parent, mode);
  try {
    await mkdir(path, mode);
  } catch (error) {
    // Another process may have created it in the meantime.
    if (!(await isFolder(path))) throw error;
  }
}

const isFolder = (path: string): Promise<boolean> =>
  stat(path).then(
    (stats) => stats.isDirectory(),
    () => false,
  );

const errorReasons: Readonly<Record<string, string>> = {
  EROFS: 'its disk is read-only',
  EACCES: 'it is not permitted',
  EPERM: 'it is not permitted',
  EEXIST: 'a file is in the place of a folder',
  ENOTDIR: 'a file is in the place of a folder',
  EISDIR: 'it is a folder',
  ENOENT: 'it is not there',
  ENOSPC: 'its disk is full',
  EFBIG: 'it is larger than its disk, or a limit, permits',
  ENOTREG: 'it is not a regular file',
  EMFILE: 'too many files are open',
  ENFILE: 'too many files are open',
};

/** The reason of a file system error in words, with its code. */
export function describeFsError(thrown: unknown): string {
  const { code, syscall } = Object(thrown) as { readonly code?: unknown; readonly syscall?: unknown };
  if (typeof code !== 'string') return String(thrown);
  if (code === 'ENOENT' && (syscall === 'mkdir' || syscall === 'mkdtemp'))
    return `${errorReasons[code]}, and cannot be made (${code})`;
  return `${errorReasons[code] ?? 'the system refuses it'} (${code})`;
}

/** Why a file that a user names cannot be read. */
export function whyUnreadable({ code, message }: NodeJS.ErrnoException): string {
  if (code === 'ENOENT') return 'there is no such file';
  return code === 'EISDIR' || code === 'ENOTREG' ? (errorReasons[code] ?? message) : message;
}

/** Reads the text of a file that a user names, without a byte order mark. @throws Error that names the file. */
export async function readTextFile(
  path: string,
  read: (path: string) => Promise<Uint8Array> = readFile,
): Promise<string> {
  const bytes = await read(path).catch((cause: NodeJS.ErrnoException) => {
    throw new Error(`${path} cannot be read: ${whyUnreadable(cause)}`, { cause });
  });
  const text = decodeUtf8(bytes);
  if (text === undefined) throw new Error(`${path} is not UTF-8; save it as UTF-8`);
  return text;
}

/** @throws Error that names the flag, when its path is a file and no folder. */
export async function assertFolder(flag: string, folder: string): Promise<void> {
  const isFile = await stat(folder).then(
    (stats) => !stats.isDirectory(),
    (error: NodeJS.ErrnoException) => error.code === 'ENOTDIR',
  );
  if (isFile) throw new Error(`${flag} ${folder}: a file is in the place of that folder`);
}

/** Why a folder is not writable; undefined = it is. Creates the folder when it is missing. */
export async function findWriteProblem(folder: string): Promise<string | undefined> {
  try {
    await makeFolder(folder);
    await rmdir(await mkdtemp(join(folder, probeFilePrefix)));
    return undefined;
  } catch (error) {
    const { path = folder } = error as NodeJS.ErrnoException;
    return `${basename(path).startsWith(probeFilePrefix) ? folder : path}: ${describeFsError(error)}`;
  }
}

const probeFilePrefix = '.probe-';

/**
 * Writes a file atomically: a reader sees the old content or the new one, never a part of it, also after a power cut.
 * @param content a text, or what writes the content.
 * @param draft the path that is written first and then renamed; deleted when that fails.
 * @throws the system's error.
 */
export async function writeAtomic(
  path: string,
  content: string | ((file: FileHandle) => Promise<void>),
  draft = draftPath(path),
): Promise<void> {
  const file = await createFile(draft);
  try {
    try {
      await (typeof content === 'string' ? file.writeFile(content) : content(file));
      await file.sync();
    } finally {
      await file.close();
    }
    await rename(draft, path);
  } catch (error) {
    await unlink(draft).catch(() => undefined);
    throw error;
  }
  await syncFolder(dirname(path));
}

/** Writes all bytes: a disk that becomes full meanwhile takes some without an error. @throws the system's error. */
export async function writeAll(file: Pick<FileHandle, 'write'>, bytes: Buffer, position: number): Promise<void> {
  for (let at = 0; at < bytes.length;) {
    const { bytesWritten } = await file.write(bytes, at, bytes.length - at, position + at);
    at += bytesWritten;
  }
}

/** The path that is written before it is renamed to the path of a file. */
export const draftPath = (path: string): string => `${path}.new`;

/** Creates a file in place of any other: links are not followed. @throws the system's error. */
export async function createFile(path: string): Promise<FileHandle> {
  await unlink(path).catch((error: NodeJS.ErrnoException) => {
    if (error.code !== 'ENOENT') throw error;
  });
  return open(path, 'wx+');
}

/** Flushes the directory entries of a folder, where the system can: renames in it then survive a power cut. Never rejects. */
export async function syncFolder(folder: string): Promise<void> {
  const handle = await open(folder, 'r').catch(() => undefined);
  await handle?.sync().catch(() => undefined);
  await handle?.close().catch(() => undefined);
}

/** Whether an error says that a path has no regular file. Other errors, such as EMFILE, say nothing about what is there. */
export const isNoFileError = (thrown: unknown): boolean =>
  noFileCodes.has(String((Object(thrown) as { readonly code?: unknown }).code));

const noFileCodes = new Set(['ENOENT', 'ENOTDIR', 'EISDIR', 'ELOOP', 'ENOTREG']);

/**
 * Reads a regular file. Unlike `readFile` it never blocks on a FIFO, whose open would occupy a thread of the pool until a
 * writer comes.
 * @throws the system's error; code EISDIR for a folder, ENOTREG for anything else that is not a regular file, EFBIG for one
 * that is larger than `maxBytes`.
 */
export async function readRegularFile(path: string, maxBytes = Infinity): Promise<Buffer> {
  // Windows has no O_NONBLOCK, and no FIFOs in folders.
  await using handle = await open(path, constants.O_RDONLY | (constants.O_NONBLOCK ?? 0));
  const info = await handle.stat();
  if (info.isFile() && info.size <= maxBytes) return await handle.readFile();
  const code = info.isFile() ? 'EFBIG' : info.isDirectory() ? 'EISDIR' : 'ENOTREG';
  throw Object.assign(new Error(`${path} is not a regular file, or is too large`), { code });
}

/** The text of a regular file; "" = there is none. @throws the system's error when it cannot be read now. */
export async function readTextIfFile(path: string): Promise<string> {
  try {
    return (await readRegularFile(path)).toString('utf8');
  } catch (error) {
    if (isNoFileError(error)) return '';
    throw error;
  }
}

const utf8 = new TextDecoder('utf-8', { fatal: true });

/** The text of a file, without the byte order mark that some Windows editors write; undefined: it is not UTF-8. */
export function decodeUtf8(bytes: Uint8Array): string | undefined {
  try {
    return utf8.decode(bytes);
  } catch {
    return undefined;
  }
}

// Windows opens a device for these names, whatever extension and spaces follow.
const deviceName = /^(?:con|prn|aux|nul|conin\$|conout\$|(?:com|lpt)[0-9¹²³]) *(?:\.|$)/i;

/**
 * Why a relative path does not name the same file on every system; undefined = it does. The rules of Windows count
 * everywhere, so that a catalogue or a graph that works on one system works on all.
 * @param path with slashes.
 */
export const findPathProblem = (path: string): string | undefined =>
  path
    .split('/')
    .map(segmentProblem)
    .find((problem) => problem !== undefined);

function segmentProblem(segment: string): string | undefined {
  const name = JSON.stringify(segment);
  if (segment === '') return 'has an empty part: it must be relative, and "/" stands between two names';
  if (segment === '.' || segment === '..') return `has ${name} in it: it must not leave its folder`;
  const [forbidden] = /[\\:*?"<>|\p{Cc}]/u.exec(segment) ?? [];
  if (forbidden !== undefined) return `has ${JSON.stringify(forbidden)} in it, which no file name on Windows can have`;
  if (/[. ]$/.test(segment)) return `has ${name} in it: Windows drops a dot or space at the end of a name`;
  if (deviceName.test(segment)) return `has ${name} in it, which is a device on Windows`;
  return undefined;
}
