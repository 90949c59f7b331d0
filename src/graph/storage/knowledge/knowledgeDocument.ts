import { createYielder } from '../../../base/eventLoop.ts';
import { Fault } from '../../../protocol/fault.ts';
import { invalidStorage } from '../invalidStorage.ts';
import { didYouMean } from '../../../base/didYouMean.ts';
import type { ReadResult } from '../../../protocol/schema.ts';
import { readFields, type KnowledgeEntry, type KnowledgeField } from './knowledge.ts';
import { type JsonSlice, JsonSource } from './jsonSource.ts';
import { readLorebookEntry, readRecord } from './entries.ts';

/** An entry, and where it is written. */
export interface PlacedEntry {
  readonly entry: KnowledgeEntry;
  readonly source: JsonSource;
  readonly slice: JsonSlice;
}

/** One file of a KNOWLEDGE storage. */
export interface KnowledgeDocument {
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
export async function readDocument(bytes: Uint8Array, name: string, maxEntries: number): Promise<KnowledgeDocument> {
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
