import { posix } from 'node:path';
import { createYielder } from '../../../base/eventLoop.ts';
import { Fault } from '../../../protocol/fault.ts';
import { invalidStorage } from '../invalidStorage.ts';
import { didYouMean } from '../../../base/didYouMean.ts';
import type { ReadResult, SchemaError } from '../../../protocol/schema.ts';
import {
  findMetadataError,
  type Knowledge,
  type KnowledgeEntry,
  type KnowledgeField,
  readFields,
} from './knowledge.ts';
import { type JsonSlice, JsonSource } from './jsonSource.ts';
import { EntryChecker, readLorebookEntry, readRecord } from './entries.ts';

/** Max bytes of a knowledge file. */
export const maxFileBytes = 64 * 1024 * 1024;

/**
 * Reads a `.kb.json` file, and the file that its `records_file` names.
 * @param path its path in the storage folder.
 * @param readBytes reads a file of the storage folder.
 * @throws Fault INVALID_STRING_STORAGE_DATA with file, line and column, LIMIT_EXCEEDED, and what `readBytes` throws.
 */
export async function readKnowledgeFile(
  path: string,
  readBytes: (path: string) => Promise<Uint8Array>,
  maxEntries: number,
): Promise<Knowledge> {
  const bytes = await readBytes(path);
  const { entries, fields, embeddingModel, recordsFile } = await readDocument(bytes, path, maxEntries);
  if (recordsFile === undefined)
    return { entries: await complete(entries, fields), fields, embeddingModel, bytes: bytes.length };
  const recordsPath = recordsPathOf(path, recordsFile);
  const recordBytes = await readBytes(recordsPath);
  const records = await readDocument(recordBytes, recordsPath, maxEntries);
  if (records.fields || records.embeddingModel !== undefined || records.recordsFile !== undefined)
    throw invalidStorage(`${recordsPath} must be a list of records: it is the records_file of ${path}`);
  return {
    entries: await complete(records.entries, fields),
    fields,
    embeddingModel,
    bytes: bytes.length + recordBytes.length,
  };
}

/** The path of the file that a knowledge file names as its `records_file`. @throws Fault as readKnowledgeFile. */
export async function findRecordsPath(path: string, bytes: Uint8Array): Promise<string | undefined> {
  const { recordsFile } = await readDocument(bytes, path, Infinity);
  return recordsFile === undefined ? undefined : recordsPathOf(path, recordsFile);
}

// It is relative to the folder of the file that names it.
const recordsPathOf = (path: string, recordsFile: string): string =>
  recordsFile.startsWith('/')
    ? recordsFile
    : `${posix.dirname(path.replaceAll('\\', '/'))}/${recordsFile}`.replace(/^\.\//, '');

/** Checks the entries against each other and the fields, and fills in the defaults. */
async function complete(
  placed: readonly PlacedEntry[],
  fields: readonly KnowledgeField[] | undefined,
): Promise<readonly KnowledgeEntry[]> {
  const yieldToOthers = createYielder();
  const byName = fields && new Map(fields.map((field) => [field.name, field]));
  const checker = new EntryChecker();
  const defaults = defaultsOf(fields);
  const entries: KnowledgeEntry[] = [];
  for (const { entry, source, slice } of placed) {
    const error = checker.findError(entry) ?? (byName && prefixed(findMetadataError(entry.metadata, byName)));
    if (error)
      throw error.code ? new Fault(error.code, source.faultIn(slice, error).message) : source.faultIn(slice, error);
    entries.push(defaults ? { ...entry, metadata: { ...defaults, ...entry.metadata } } : entry);
    await yieldToOthers();
  }
  return entries;
}

const prefixed = (error: SchemaError | undefined): SchemaError | undefined =>
  error && { ...error, pointer: `/metadata${error.pointer}` };

function defaultsOf(fields: readonly KnowledgeField[] | undefined): KnowledgeEntry['metadata'] | undefined {
  const withDefault = (fields ?? []).flatMap(({ name, default: value }) =>
    value === undefined ? [] : [[name, value] as const],
  );
  return withDefault.length > 0 ? Object.fromEntries(withDefault) : undefined;
}

/** An entry, and where it is written. */
interface PlacedEntry {
  readonly entry: KnowledgeEntry;
  readonly source: JsonSource;
  readonly slice: JsonSlice;
}

/** One file of a KNOWLEDGE storage. */
interface KnowledgeDocument {
  readonly entries: readonly PlacedEntry[];
  readonly fields: readonly KnowledgeField[] | undefined;
  readonly embeddingModel: string | undefined;
  readonly recordsFile: string | undefined;
}

const lists = ['records', 'entries'];
const members = ['embedding_model', 'fields', 'records', 'records_file'];

/**
 * Reads a list of records, an object with records, or a SillyTavern lorebook, in pieces between which the event loop runs.
 * @param name its path in messages.
 * @param maxEntries reading stops above it.
 * @throws Fault INVALID_STRING_STORAGE_DATA with line and column, LIMIT_EXCEEDED.
 */
async function readDocument(bytes: Uint8Array, name: string, maxEntries: number): Promise<KnowledgeDocument> {
  const yieldToOthers = createYielder();
  const source = new JsonSource(bytes, name);
  const reader = new DocumentReader(source);
  for (const slice of source.slices(lists)) {
    reader.read(slice);
    if (reader.entries.length > maxEntries)
      throw new Fault('LIMIT_EXCEEDED', `"${name}" has more than ${maxEntries} entries, and no more are allowed`);
    await yieldToOthers();
  }
  return reader.finish(name);
}

class DocumentReader {
  readonly entries: PlacedEntry[] = [];
  readonly #source: JsonSource;
  /** The first slice of each known member. */
  readonly #found = new Map<string, JsonSlice>();
  #unknown: JsonSlice | undefined;
  #fields: readonly KnowledgeField[] | undefined;
  #embeddingModel: string | undefined;
  #recordsFile: string | undefined;

  constructor(source: JsonSource) {
    this.#source = source;
  }

  read(slice: JsonSlice): void {
    if (slice.key === undefined) this.#readMember(slice);
    else {
      const value = this.#source.parse(slice);
      const reading: ReadResult<KnowledgeEntry | undefined> =
        slice.member === 'entries' ? readLorebookEntry(value, slice.key) : readRecord(value);
      const entry = this.#unwrap(slice, reading);
      if (entry) this.entries.push({ entry, source: this.#source, slice });
    }
  }

  finish(name: string): KnowledgeDocument {
    const found = (member: string): boolean => this.#found.has(member);
    const isLorebook = found('entries');
    // A lorebook has other members too, such as its name; they are not needed.
    const other = isLorebook ? members.map((member) => this.#found.get(member)).find(Boolean) : this.#unknown;
    if (other) {
      const hint = isLorebook ? ' next to "entries"' : didYouMean(other.member, members);
      throw this.#source.faultIn(other, { pointer: '', message: `is not known here${hint}` });
    }
    const [records, recordsFile] = [this.#found.get('records'), this.#found.get('records_file')];
    if (records && recordsFile)
      throw this.#source.faultIn(recordsFile, { pointer: '', message: 'excludes records; give one or the other' });
    if (!found('') && !isLorebook && !records && !recordsFile)
      throw invalidStorage(`${name} must have "records", "records_file", or, as a lorebook, "entries"`);
    return {
      entries: this.entries,
      fields: this.#fields,
      embeddingModel: this.#embeddingModel,
      recordsFile: this.#recordsFile,
    };
  }

  #readMember(slice: JsonSlice): void {
    const { member, opensList } = slice;
    if (![...members, 'entries', ''].includes(member)) {
      this.#unknown ??= slice;
      return;
    }
    if (this.#found.has(member))
      throw this.#source.faultIn(slice, { pointer: '', message: 'is there twice; remove one' });
    this.#found.set(member, slice);
    if (opensList) return;
    const value = this.#source.parse(slice);
    if (member === 'fields') this.#fields = this.#unwrap(slice, readFields(value));
    else if (lists.includes(member)) throw this.#source.faultIn(slice, { pointer: '', message: 'must be a list' });
    else if (typeof value !== 'string' || value === '')
      throw this.#source.faultIn(slice, { pointer: '', message: 'must be a string, not empty' });
    else if (member === 'embedding_model') this.#embeddingModel = value;
    else this.#recordsFile = value;
  }

  #unwrap<T>(slice: JsonSlice, reading: ReadResult<T>): T {
    if (reading.ok) return reading.value;
    throw this.#source.faultIn(slice, reading.errors[0] ?? { pointer: '', message: 'is invalid' });
  }
}
