import { constants } from 'node:fs';
import { type FileHandle, open, unlink } from 'node:fs/promises';
import { dirname } from 'node:path';
import { createYielder } from '../../base/eventLoop.ts';
import { decodeUtf8, describeFsError, draftPath, syncFolder, writeAll, writeAtomic } from '../../base/filesystem.ts';
import { isObject } from '../../base/jsonTypes.ts';
import { parseJson } from '../../base/jsonLocations.ts';
import { acquireLock, type Lock } from '../../inference/download/disk/lockFile.ts';
import { Fault } from '../../protocol/fault.ts';
import type { WriteChange } from './growingStorage.ts';
import { invalidStorage } from './invalidStorage.ts';
import { readEntries } from './knowledge/entries.ts';
import { isStringList, type KnowledgeEntry } from './knowledge/knowledge.ts';
import { readBytes } from './storageFile.ts';

const header = { turngraph: 'memory', version: 1 } as const;
/** A file is written anew when more than half of it, and so many bytes, are of entries that are not there any more. */
const minStaleBytes = 65_536;
/** Of a line with many entries, which is parsed at once. */
const lineLength = 2 ** 20;

const toLine = (value: object): string => `${JSON.stringify(value)}\n`;
const headerLine = toLine(header);

/**
 * The file of a storage that is kept: a header, then one JSON line a change, `{"add": [...], "remove": [...]}`. A change is on
 * the disk before it is acknowledged. What a killed process has left of a line is not read, and cut off by the next change.
 */
export class MemoryFile implements AsyncDisposable {
  readonly #path: string;
  readonly #name: string;
  readonly #maxBytes: number;
  #lock: Lock | undefined;
  /** Why it can only be read; undefined: it is locked. */
  #whyReadOnly: Fault | undefined;
  #file: FileHandle | undefined;
  /** Bytes of its whole lines; 0 = it is not there yet. */
  #length = 0;
  #headerLength = headerLine.length;

  /** @param name the name of the storage, for messages: the path tells nothing. */
  constructor(path: string, name: string, maxBytes: number) {
    this.#path = path;
    this.#name = name;
    this.#maxBytes = maxBytes;
  }

  /**
   * Locks the file until this is disposed of, and reads the entries; undefined: there is no file yet. Where a lock cannot be
   * written, on a full or read-only disk, it is only read: each change is refused, and what another server writes is not seen.
   * @throws Fault STORAGE_NAME_IN_USE when another server has it open; LIMIT_EXCEEDED, INVALID_STRING_STORAGE_DATA with the
   * line, STORAGE_FILE_NOT_FOUND, INSUFFICIENT_DISK_SPACE.
   */
  async open(): Promise<readonly KnowledgeEntry[] | undefined> {
    this.#lock = await acquireLock(this.#path).catch((cause: unknown) => {
      if (!(cause instanceof Fault)) return void (this.#whyReadOnly = this.#unwritable(cause));
      const message = `the storage "${this.#name}" is open in another server; end that, or the session there`;
      throw new Fault('STORAGE_NAME_IN_USE', message, { cause });
    });
    await unlink(draftPath(this.#path)).catch(() => undefined);
    const bytes = await readBytes(this.#path, this.#name, this.#maxBytes).catch((error: Fault) => {
      if ((error.cause as NodeJS.ErrnoException).code !== 'ENOENT') throw this.#whyReadOnly ?? error;
      return new Uint8Array();
    });
    this.#length = bytes.lastIndexOf(0x0a) + 1;
    if (this.#length === 0 && this.#whyReadOnly) throw this.#whyReadOnly;
    if (this.#length === 0) return undefined;
    this.#headerLength = bytes.indexOf(0x0a) + 1;
    const yieldToOthers = createYielder();
    const entries = new Map<string, KnowledgeEntry>();
    for (let [start, number] = [0, 1]; start < this.#length; number++) {
      const end = bytes.indexOf(0x0a, start);
      await this.#readLine(bytes.subarray(start, end), number, entries);
      start = end + 1;
      await yieldToOthers();
    }
    return [...entries.values()];
  }

  /** Writes a change, or the state if much is stale. @throws Fault LIMIT_EXCEEDED, INSUFFICIENT_DISK_SPACE */
  async write(...[{ added, removed }, next]: Parameters<WriteChange>): Promise<void> {
    const line = toLine({ ...(added.length > 0 && { add: added }), ...(removed.length > 0 && { remove: removed }) });
    const bytes = Buffer.from(this.#length === 0 ? headerLine + line : line);
    const length = this.#length + bytes.length;
    const isEmpty = next.entries.length === 0;
    if (this.#whyReadOnly) throw this.#whyReadOnly;
    const isStale = isEmpty || length > 2 * next.bytes + minStaleBytes;
    try {
      await this.#lock?.check();
      if (length > this.#maxBytes) await this.#rewrite(next.entries);
      // It may lack the room for a second file.
      else if (!isStale || (await this.#rewrite(next.entries).catch(() => true))) await this.#append(bytes);
    } catch (cause) {
      const fault = cause instanceof Fault && cause.name === 'LIMIT_EXCEEDED' ? cause : this.#unwritable(cause);
      if (!isEmpty || fault.name !== 'INSUFFICIENT_DISK_SPACE') throw fault;
      await this.#clear().catch(() => Promise.reject(fault));
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#close();
    await this.#lock?.[Symbol.asyncDispose]();
  }

  #unwritable(cause: unknown): Fault {
    const { code } = cause as NodeJS.ErrnoException;
    const name = code === 'ENOSPC' || code === 'EDQUOT' ? 'INSUFFICIENT_DISK_SPACE' : 'INTERNAL';
    const why = cause instanceof Fault ? 'another server has taken it over' : describeFsError(cause);
    return new Fault(name, `the memory of "${this.#name}" cannot be written: ${why}; nothing has changed`, { cause });
  }

  async #close(): Promise<void> {
    await this.#file?.close().catch(() => undefined);
    this.#file = undefined;
  }

  async #open(): Promise<FileHandle> {
    return (this.#file ??= await open(this.#path, constants.O_RDWR | constants.O_CREAT, 0o600));
  }

  /** Cuts off all lines but the header, which needs no room on the disk. */
  async #clear(): Promise<void> {
    const file = await this.#open();
    await file.truncate(this.#headerLength);
    this.#length = this.#headerLength;
    // The lines are gone, whether or not the disk has it yet.
    await file.datasync().catch(() => undefined);
  }

  async #append(bytes: Buffer): Promise<void> {
    const isNew = this.#length === 0;
    const file = await this.#open();
    // There may be a part of a line.
    await file.truncate(this.#length);
    try {
      await writeAll(file, bytes, this.#length);
      await file.datasync();
    } catch (error) {
      await file.truncate(this.#length).catch(() => undefined);
      throw error;
    }
    if (isNew) await syncFolder(dirname(this.#path));
    this.#length += bytes.length;
  }

  async #rewrite(entries: readonly KnowledgeEntry[]): Promise<void> {
    let length = 0;
    await writeAtomic(this.#path, async (file) => {
      await file.chmod(0o600);
      const write = async (line: string): Promise<void> => {
        const bytes = Buffer.from(line);
        const message = `the memory of "${this.#name}" would have more than ${this.#maxBytes} bytes; remove entries first`;
        if (length + bytes.length > this.#maxBytes) throw new Fault('LIMIT_EXCEEDED', message);
        await writeAll(file, bytes, length);
        length += bytes.length;
      };
      await write(headerLine);
      let adding = '';
      for (const entry of entries) {
        adding += (adding === '' ? '{"add":[' : ',') + JSON.stringify(entry);
        if (adding.length < lineLength) continue;
        await write(`${adding}]}\n`);
        adding = '';
      }
      if (adding !== '') await write(`${adding}]}\n`);
      // Windows replaces no open file.
      await this.#close();
    });
    this.#length = length;
    this.#headerLength = headerLine.length;
  }

  async #readLine(bytes: Uint8Array, number: number, entries: Map<string, KnowledgeEntry>): Promise<void> {
    const place = `the memory of "${this.#name}", line ${number}`;
    const text = decodeUtf8(bytes);
    const value = text === undefined ? undefined : parseJson(text, (problem) => invalidStorage(`${place}: ${problem}`));
    if (!isObject(value)) throw invalidStorage(`${place}: is no JSON object`);
    if (number === 1) {
      if (value['turngraph'] === header.turngraph && value['version'] === header.version) return;
      throw invalidStorage(`${place}: is not ${JSON.stringify(header)}`);
    }
    const { add = [], remove = [] }: { readonly add?: unknown; readonly remove?: unknown } = value;
    if (!Array.isArray(add) || !add.every(isObject) || !isStringList(remove))
      throw invalidStorage(`${place}: add must be a list of entries, and remove a list of ids`);
    for (const id of remove) entries.delete(id);
    for (const entry of await readEntries(add, { fields: undefined }, `${place}: add`, Infinity)) {
      entries.delete(entry.id);
      entries.set(entry.id, entry);
    }
  }
}
