import type { CreateStringStorageRequest } from '../../protocol/frames.gen.ts';
import { Fault } from '../../protocol/fault.ts';
import { invalidStorage } from './invalidStorage.ts';
import { createGrowing, GrowingStorage, type StorageChange, type StorageSize } from './growingStorage.ts';
import { createList, createMap, type StringStorage } from './stringStorage.ts';
import { didYouMean } from '../../base/didYouMean.ts';
import type { KnowledgeEntry, KnowledgeLimits } from './knowledge/knowledge.ts';
import { maxFileBytes, readKnowledgeFile } from './knowledge/knowledgeFile.ts';
import { entriesOfRequest, type EntryRecord, readEntries } from './knowledge/entries.ts';
import { shareKnowledge } from './sharedKnowledge.ts';
import { kindOfFile, readBytes, readStorageFile } from './storageFile.ts';
import { SessionMemory, sizeOf } from './sessionMemory.ts';
import type { KeptStorage, MemoryFolder } from './memoryFolder.ts';
import type { StorageRoot } from './storageRoot.ts';

const storageName = /^[\p{L}\p{N}_][\p{L}\p{N}_. -]{0,127}$/u;

/** The string storages of one session, by name or by file. A file is read once and cached. */
export class SessionStorages implements AsyncDisposable {
  readonly #root: StorageRoot;
  readonly #maxEntries: number;
  readonly #knowledgeLimits: KnowledgeLimits;
  /** What the session keeps: its storages, and what its agents do. */
  readonly memory: SessionMemory;
  readonly #named = new Map<string, StringStorage>();
  readonly #kept = new Map<string, KeptStorage>();
  readonly #keep: StorageKeeper | undefined;
  readonly #files = new Map<string, Promise<StringStorage>>();

  /** @param maxEntries strings of one storage of another kind than KNOWLEDGE. @param keep where storages are kept. */
  constructor(root: StorageRoot, maxEntries: number, limits?: KnowledgeLimits, keep?: StorageKeeper) {
    this.#keep = keep;
    this.#root = root;
    this.#knowledgeLimits = limits ?? { entries: Infinity, bytes: Infinity };
    this.#maxEntries = maxEntries;
    this.memory = new SessionMemory(this.#knowledgeLimits.bytes);
  }

  /** Creates a storage from strings or a file. @throws Fault 7001 to 7004, 3009 to 3011 for a file, LIMIT_EXCEEDED. */
  async create(request: CreateStringStorageRequest): Promise<StringStorage> {
    const { name, kind, strings, keys, metadataJson, entries, filePath } = request;
    if (!storageName.test(name))
      throw new Fault(
        'INVALID_STRING_STORAGE_NAME',
        `"${name}" is no name for a storage: use letters, digits, _ . - and spaces, at most 128`,
      );
    if (this.#named.has(name))
      throw new Fault('STRING_STORAGE_ALREADY_EXISTS', `there is a storage "${name}" already; destroy it first`);
    const storage =
      filePath === ''
        ? await this.#fromRequest(request)
        : await this.#fromFile(filePath, kind, strings.length + keys.length + metadataJson.length + entries.length);
    if (request.persist) return this.#persist(name, storage);
    if (storage instanceof GrowingStorage) this.#count(storage, name, storage.bytes);
    else if (storage.isOfClient) this.#count(storage, name, sizeOf(request));
    this.#named.set(name, storage);
    return storage;
  }

  /**
   * Adds entries to a KNOWLEDGE storage. One whose id another entry has takes its place; all of them come after the others.
   * @param records as in a knowledge file, but one without an id gets one.
   * @param place what messages call the list of them.
   * @returns the ids, in order, and sentences about what is not used.
   * @throws Fault INVALID_STRING_STORAGE_NAME or STORAGE_KIND_MISMATCH for the storage, INVALID_STRING_STORAGE_DATA that names
   * the entry, LIMIT_EXCEEDED; then nothing has changed.
   */
  async add(name: string, records: readonly EntryRecord[], place = 'entries') {
    const storage = await this.#findGrowing(name);
    const added = await readEntries(records, storage.knowledge, place);
    const warnings = await this.#change(name, storage, () => ({ added, removed: [] }));
    return { ids: added.map(({ id }) => id), warnings };
  }

  /** @param place what messages call the ids. @throws as `add`; INVALID_STRING_STORAGE_DATA for an unknown id. */
  async remove(name: string, ids: readonly string[], place = 'ids'): Promise<void> {
    const storage = await this.#findGrowing(name);
    await this.#change(name, storage, () => {
      const known = new Set(storage.keys);
      const unknown = ids.findIndex((id) => !known.has(id));
      if (unknown < 0) return { added: [], removed: ids };
      const id = ids[unknown] ?? '';
      throw invalidStorage(`${place}[${unknown}]: no entry of "${name}" has the id "${id}"${didYouMean(id, known)}`);
    });
  }

  /** The entries of a KNOWLEDGE storage or file, as they were given. @throws as `find`, STORAGE_KIND_MISMATCH. */
  async export(nameOrPath: string): Promise<readonly KnowledgeEntry[]> {
    const storage = await this.find(nameOrPath);
    if (storage instanceof GrowingStorage) return storage.entries;
    if (storage.knowledge) return storage.knowledge.entries;
    throw notKnowledge(nameOrPath, storage);
  }

  /** Removes a storage by its name; agents that use it keep it. @throws Fault INVALID_STRING_STORAGE_NAME when there is none. */
  async destroy(name: string): Promise<void> {
    const storage = this.#named.get(name);
    if (!storage) throw this.#unknown(name, '');
    this.#named.delete(name);
    // A file is cached, and stays.
    if (storage.isOfClient || storage.current) this.memory.drop(storage);
    const kept = this.#kept.get(name);
    this.#kept.delete(name);
    await kept?.release();
  }

  /** Releases the storages that are kept. */
  async [Symbol.asyncDispose](): Promise<void> {
    await Promise.all([...this.#kept.keys()].map((name) => this.destroy(name)));
  }

  /**
   * Finds the storage that a node refers to: one of the session by its name, else a file.
   * @throws Fault STORAGE_FILE_NOT_FOUND when there is neither, STORAGE_OUTSIDE_ROOT and STORAGE_KIND_MISMATCH for the path,
   * INVALID_STRING_STORAGE_DATA and LIMIT_EXCEEDED for the content.
   */
  async find(nameOrPath: string): Promise<StringStorage> {
    const named = this.#named.get(nameOrPath);
    if (named) return named;
    const storage = await this.#readFile(nameOrPath);
    if (storage) return storage;
    throw new Fault(
      'STORAGE_FILE_NOT_FOUND',
      `"${nameOrPath}" is neither a storage of this session nor a file of its storage folder; create it first${didYouMean(nameOrPath, this.#named.keys())}`,
    );
  }

  /** Opens a storage that is kept. @param draft has the entries of one that is not there yet. */
  async #persist(name: string, draft: StringStorage): Promise<StringStorage> {
    const place = 'createStringStorage.persist';
    if (!(draft instanceof GrowingStorage && draft.isOfClient))
      throw invalidStorage(`${place} is for a KNOWLEDGE without filePath; leave it out, or give entries`);
    if (!this.#keep?.folder)
      throw invalidStorage(`${place} needs a folder: start the server with --memory FOLDER, or leave it out`);
    if (this.#keep.key === '')
      throw invalidStorage(`${place} needs a key: give configureSession.memoryKey, or leave it out`);
    const kept = await this.#keep.folder.use(this.#keep.key, name, draft.entries);
    try {
      this.#checkLimit(kept.storage.list.length, name, this.#knowledgeLimits.entries);
      this.#count(kept.storage, name, kept.storage.bytes);
    } catch (error) {
      await kept.release();
      throw error;
    }
    this.#kept.set(name, kept);
    this.#named.set(name, kept.storage);
    return kept.storage;
  }

  async #fromRequest(request: CreateStringStorageRequest): Promise<StringStorage> {
    const { name, kind, strings, keys, metadataJson, entries } = request;
    if ((await this.#root.find(name)) !== undefined)
      throw new Fault('STORAGE_NAME_IN_USE', `"${name}" is a file of the storage folder; choose another name`);
    if (kind === 'KNOWLEDGE') {
      this.#checkLimit(strings.length + entries.length, name, this.#knowledgeLimits.entries);
      return createGrowing(await entriesOfRequest(request, `"${name}"`));
    }
    if (entries.length > 0)
      throw invalidStorage(`"${name}" is a ${kind} and has entries; give strings, or make it a KNOWLEDGE`);
    if (metadataJson.length > 0)
      throw invalidStorage(`"${name}" is a ${kind} and has metadataJson; leave it out, or make it a KNOWLEDGE`);
    this.#checkLimit(strings.length, name, this.#maxEntries);
    if (kind === 'LIST') {
      if (keys.length > 0) throw invalidStorage(`"${name}" is a LIST and has keys; leave them out, or make it a MAP`);
      return { ...createList(strings), isOfClient: true };
    }
    if (keys.length !== strings.length)
      throw invalidStorage(`"${name}" has ${strings.length} strings and ${keys.length} keys; each string needs a key`);
    const pairs = strings.map((text, index) => ({ key: keys[index] ?? '', text }));
    return { ...createMap(kind, pairs, `"${name}"`), isOfClient: true };
  }

  async #fromFile(path: string, kind: StringStorage['kind'], inlineEntries: number): Promise<StringStorage> {
    if (inlineEntries > 0)
      throw invalidStorage('filePath excludes strings, keys, metadataJson and entries; give one or the other');
    const storage = await this.#readFile(path);
    if (!storage) throw new Fault('STORAGE_FILE_NOT_FOUND', `the storage folder has no file "${path}"`);
    if (storage.kind === kind) return kind === 'KNOWLEDGE' ? new GrowingStorage(storage) : storage;
    throw new Fault(
      'STORAGE_KIND_MISMATCH',
      `"${path}" holds a ${storage.kind}, not a ${kind} (.txt = LIST, .json = MAP, .mm.json = MULTIMAP, .kb.json = KNOWLEDGE)`,
    );
  }

  async #readFile(path: string): Promise<StringStorage | undefined> {
    const file = await this.#root.find(path);
    if (file === undefined) return undefined;
    const kind = kindOfFile(path);
    if (!kind)
      throw new Fault(
        'STORAGE_KIND_MISMATCH',
        `"${path}" is no storage file: it must end in .txt, .json, .mm.json, .kb.json or, as a character card, .png`,
      );
    const cached = this.#files.get(file);
    if (cached) return cached;
    const reading = kind === 'KNOWLEDGE' ? this.#readKnowledge(path, file) : this.#readStrings(file, kind, path);
    this.#files.set(file, reading);
    reading.catch(() => this.#files.delete(file));
    return reading;
  }

  async #readStrings(file: string, kind: Exclude<StringStorage['kind'], 'KNOWLEDGE'>, path: string) {
    const storage = await readStorageFile(file, kind, path);
    this.#checkLimit(storage.list.length, path, this.#maxEntries);
    return this.#count(storage, path, sizeOf(storage));
  }

  async #readKnowledge(path: string, file: string): Promise<StringStorage> {
    const { entries } = this.#knowledgeLimits;
    const storage = await shareKnowledge(`${entries}\n${this.#root.path}\n${file}`, (onFile) =>
      readKnowledgeFile(path, (name) => this.#readKnowledgeBytes(name, onFile), entries),
    );
    return this.#count(storage, path, storage.knowledge?.bytes ?? 0);
  }

  async #readKnowledgeBytes(name: string, onFile: (file: string) => Promise<void>): Promise<Uint8Array> {
    const file = await this.#root.find(name);
    if (file === undefined) throw new Fault('STORAGE_FILE_NOT_FOUND', `the storage folder has no file "${name}"`);
    await onFile(file);
    return readBytes(file, name, maxFileBytes);
  }

  async #findGrowing(name: string): Promise<GrowingStorage> {
    const storage = this.#named.get(name);
    if (storage instanceof GrowingStorage) return storage;
    if (storage) throw notKnowledge(name, storage);
    if ((await this.#root.find(name)) === undefined) throw this.#unknown(name);
    const problem = `"${name}" is a file of the storage folder, which does not change; create a storage from it (filePath), and name that`;
    throw new Fault('INVALID_STRING_STORAGE_NAME', problem);
  }

  #unknown(name: string, fix = '; create it first'): Fault {
    const hint = didYouMean(name, this.#named.keys());
    return new Fault('INVALID_STRING_STORAGE_NAME', `there is no storage "${name}"${fix}${hint}`);
  }

  #change(name: string, storage: GrowingStorage, plan: () => StorageChange): Promise<readonly string[]> {
    const planIfThere = (): StorageChange => {
      // It may have been destroyed since it was found: a file that is kept is closed then.
      if (this.#named.get(name) !== storage) throw this.#unknown(name);
      return plan();
    };
    const admit = ({ entries, bytes }: StorageSize): void => {
      if (entries > storage.list.length) this.#checkLimit(entries, name, this.#knowledgeLimits.entries);
      // Other sessions may have added more than this one could: entries can be removed all the same.
      this.memory.resize(storage, bytes, bytes > storage.bytes ? `"${name}"` : undefined);
    };
    return storage.change(planIfThere, admit);
  }

  #count(storage: StringStorage, name: string, bytes: number): StringStorage {
    this.memory.share(storage, bytes, `"${name}"`, storage.kind === 'KNOWLEDGE');
    return storage;
  }

  #checkLimit(entries: number, name: string, allowed: number): void {
    if (entries > allowed)
      throw new Fault('LIMIT_EXCEEDED', `"${name}" has ${entries} entries, and ${allowed} are allowed`);
  }
}

/** Where storages are kept, and the key of the session. */
export interface StorageKeeper {
  readonly folder: MemoryFolder | undefined;
  /** "" = none. */
  readonly key: string;
}

const notKnowledge = (name: string, { kind }: StringStorage): Fault =>
  new Fault(
    'STORAGE_KIND_MISMATCH',
    `"${name}" is a ${kind}, and only a KNOWLEDGE has entries to add, remove or export`,
  );
