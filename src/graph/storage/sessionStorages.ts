import type { CreateStringStorageRequest } from '../../protocol/frames.gen.ts';
import { Fault } from '../../protocol/fault.ts';
import { invalidStorage } from './invalidStorage.ts';
import { createKnowledge, createList, createMap, type StringStorage } from './stringStorage.ts';
import { didYouMean } from '../../base/didYouMean.ts';
import type { KnowledgeLimits } from './knowledge/knowledge.ts';
import { maxFileBytes, readKnowledgeFile } from './knowledge/knowledgeFile.ts';
import { knowledgeOfRequest } from './knowledge/entries.ts';
import { shareKnowledge } from './sharedKnowledge.ts';
import { kindOfFile, readBytes, readStorageFile } from './storageFile.ts';
import { SessionMemory, sizeOf } from './sessionMemory.ts';
import type { StorageRoot } from './storageRoot.ts';

const storageName = /^[\p{L}\p{N}_][\p{L}\p{N}_. -]{0,127}$/u;

/** The string storages of one session, by name or by file. A file is read once and cached. */
export class SessionStorages {
  readonly #root: StorageRoot;
  readonly #maxEntries: number;
  readonly #knowledgeLimits: KnowledgeLimits;
  /** What the session keeps: its storages, and what its agents do. */
  readonly memory: SessionMemory;
  readonly #named = new Map<string, StringStorage>();
  readonly #files = new Map<string, Promise<StringStorage>>();

  /** @param maxEntries strings that one storage of another kind than KNOWLEDGE may have. */
  constructor(root: StorageRoot, maxEntries: number, knowledgeLimits: KnowledgeLimits = unlimited) {
    this.#root = root;
    this.#knowledgeLimits = knowledgeLimits;
    this.#maxEntries = maxEntries;
    this.memory = new SessionMemory(knowledgeLimits.bytes);
  }

  /**
   * Creates a storage from the strings of the request, or from a file.
   * @throws Fault 7001 to 7004 for the name or the data, 3009 to 3011 for the file, LIMIT_EXCEEDED.
   */
  async create(request: CreateStringStorageRequest): Promise<StringStorage> {
    const { name, kind, strings, keys, metadataJson, filePath } = request;
    if (!storageName.test(name)) {
      throw new Fault(
        'INVALID_STRING_STORAGE_NAME',
        `"${name}" is no name for a storage: use letters, digits, _ . - and spaces, at most 128`,
      );
    }
    if (this.#named.has(name)) {
      throw new Fault('STRING_STORAGE_ALREADY_EXISTS', `there is a storage "${name}" already; destroy it first`);
    }
    const storage =
      filePath === ''
        ? this.#count({ ...(await this.#fromRequest(request)), isOfClient: true }, name, sizeOf(request))
        : await this.#fromFile(filePath, kind, strings.length + keys.length + metadataJson.length);
    this.#named.set(name, storage);
    return storage;
  }

  /** Removes a storage by its name; agents that use it keep it. @throws Fault INVALID_STRING_STORAGE_NAME when there is none. */
  destroy(name: string): void {
    const storage = this.#named.get(name);
    if (storage && this.#named.delete(name)) {
      // A file is cached, and stays.
      if (storage.isOfClient) this.memory.drop(storage);
      return;
    }
    throw new Fault(
      'INVALID_STRING_STORAGE_NAME',
      `there is no storage "${name}"${didYouMean(name, this.#named.keys())}`,
    );
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
      `"${nameOrPath}" is neither a storage of this session nor a file of its storage folder${didYouMean(nameOrPath, this.#named.keys())}`,
    );
  }

  async #fromRequest(request: CreateStringStorageRequest): Promise<StringStorage> {
    const { name, kind, strings, keys, metadataJson } = request;
    if ((await this.#root.find(name)) !== undefined) {
      throw new Fault('STORAGE_NAME_IN_USE', `"${name}" is a file of the storage folder; choose another name`);
    }
    if (kind === 'KNOWLEDGE') {
      this.#checkLimit(strings.length, name, this.#knowledgeLimits.entries);
      return createKnowledge(knowledgeOfRequest(request, `"${name}"`));
    }
    if (metadataJson.length > 0)
      throw invalidStorage(`"${name}" is a ${kind} and has metadataJson; leave it out, or make it a KNOWLEDGE`);
    this.#checkLimit(strings.length, name, this.#maxEntries);
    if (kind === 'LIST') {
      if (keys.length > 0) throw invalidStorage(`"${name}" is a LIST and has keys; leave them out, or make it a MAP`);
      return createList(strings);
    }
    if (keys.length !== strings.length) {
      throw invalidStorage(`"${name}" has ${strings.length} strings and ${keys.length} keys; each string needs a key`);
    }
    return createMap(
      kind,
      strings.map((text, index) => ({ key: keys[index] ?? '', text })),
      `"${name}"`,
    );
  }

  async #fromFile(path: string, kind: StringStorage['kind'], inlineEntries: number): Promise<StringStorage> {
    if (inlineEntries > 0)
      throw invalidStorage('filePath excludes strings, keys and metadataJson; give one or the other');
    const storage = await this.#readFile(path);
    if (!storage) throw new Fault('STORAGE_FILE_NOT_FOUND', `the storage folder has no file "${path}"`);
    if (storage.kind === kind) return storage;
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

  #count(storage: StringStorage, name: string, bytes: number): StringStorage {
    this.memory.share(storage, bytes, `"${name}"`, storage.kind === 'KNOWLEDGE');
    return storage;
  }

  #checkLimit(entries: number, name: string, allowed: number): void {
    if (entries > allowed)
      throw new Fault('LIMIT_EXCEEDED', `"${name}" has ${entries} entries, and ${allowed} are allowed`);
  }
}

const unlimited: KnowledgeLimits = { entries: Infinity, bytes: Infinity };
