import { posix } from 'node:path';
import { createYielder } from '../../../base/eventLoop.ts';
import { Fault } from '../../../protocol/fault.ts';
import { InvalidEntries, invalidStorage, maxProblems } from '../invalidStorage.ts';
import { didYouMean } from '../../../base/didYouMean.ts';
import { isObject } from '../../../base/jsonTypes.ts';
import type { Knowledge, KnowledgeEntry, KnowledgeField } from './knowledge.ts';
import { defaultRules, fieldsReader, limitAlways, readFields } from './knowledge.ts';
import { type JsonSlice, JsonSource } from './jsonSource.ts';
import { cardInPng, isPng } from './characterCard.ts';
import { readRecord, sameId } from './entries.ts';
import { readLorebookEntry } from './lorebook.ts';

export const maxFileBytes = 64 * 1024 * 1024;

/**
 * Reads a `.kb.json` file, and the file that its `records_file` names, or the lorebook of a character card in a PNG image.
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
  const { recordsFile, ...document } = await readDocument(bytes, path, maxEntries);
  if (recordsFile === undefined) return { ...(await complete(document)), bytes: bytes.length };
  const recordsPath = recordsPathOf(path, recordsFile);
  const recordBytes = await readBytes(recordsPath);
  const records = await readDocument(recordBytes, recordsPath, maxEntries);
  if (records.fields || records.embeddingModel !== undefined || records.recordsFile !== undefined)
    throw invalidStorage(`${recordsPath} must be a list of records: it is the records_file of ${path}`);
  const { placed, notes } = records;
  return { ...(await complete({ ...document, placed, notes })), bytes: bytes.length + recordBytes.length };
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

/** Checks the entries against each other and the fields, fills in the defaults, and gives entries of lorebooks their ids. */
async function complete({ placed, notes, ...declared }: Omit<KnowledgeDocument, 'recordsFile'>) {
  const yieldToOthers = createYielder();
  const withFields = fieldsReader(declared.fields);
  const idOf = idsOf(placed, notes);
  const entries: KnowledgeEntry[] = [];
  for (const item of placed) {
    const { source, slice, isLore } = item;
    const entry = { ...item.entry, id: idOf(item) };
    const reading = !isLore && entry.id !== item.entry.id ? sameId(item.entry.id) : withFields(entry);
    if (!reading.ok) throw source.faultIn(slice, reading.errors[0]);
    entries.push(reading.value);
    await yieldToOthers();
  }
  const limited = limitAlways(entries, declared.alwaysTokens);
  return { ...declared, entries: limited.entries, warnings: [...notes.list, ...limited.warnings] };
}

/** The ids of entries, asked for in order: those that are written, each once, and others for those of a lorebook without. */
function idsOf(placed: readonly PlacedEntry[], notes: Notes): (item: PlacedEntry) => string {
  const allWritten = new Set(placed.map(({ entry }) => entry.id));
  const given = new Set<string>();
  const next = new Map<string, number>();
  return (item) => {
    const { id: written } = item.entry;
    const wanted = written || (item.slice.key ?? '');
    let id = wanted;
    let number = next.get(wanted) ?? 2;
    while (given.has(id) || (id !== written && allWritten.has(id))) id = `${wanted}-${number++}`;
    next.set(wanted, number);
    given.add(id);
    if (written !== '' && id !== written)
      notes.add(item, '', `has the id "${written}", as an earlier entry, and gets the id "${id}"`, 'id');
    return id;
  };
}

/** Problems whose places are looked for. */
const maxNotes = 100;

/** What of a file is not used, each problem once, with the first place that has it. */
class Notes {
  readonly #found = new Map<string, { readonly first: string; count: number }>();
  #others = 0;

  get list(): readonly string[] {
    const found = [...this.#found.values()].map(({ first, count }) =>
      count === 0 ? first : `${first} (${count} ${count === 1 ? 'entry' : 'entries'})`,
    );
    return this.#others === 0 ? found : [...found, `${this.#others} more problems of its entries are not shown`];
  }

  say(sentence: string): void {
    this.#found.set(sentence, { first: sentence, count: 0 });
  }

  /** @param kind what problems are counted together; default: those with the same words about the same member. */
  add({ source, slice }: Pick<PlacedEntry, 'source' | 'slice'>, pointer: string, problem: string, kind?: string): void {
    const key = kind ?? `${pointer.replace(/\/\d+$/, '')} ${problem}`;
    const known = this.#found.get(key);
    const isOfEntry = slice.key !== undefined;
    if (known) known.count++;
    else if (this.#found.size >= maxNotes) this.#others++;
    else this.#found.set(key, { first: `${source.placeOf(slice, pointer)} ${problem}`, count: isOfEntry ? 1 : 0 });
  }
}

interface PlacedEntry {
  readonly entry: KnowledgeEntry;
  readonly source: JsonSource;
  readonly slice: JsonSlice;
  /** Whether it is of a lorebook, and may be without an id. */
  readonly isLore: boolean;
}

interface KnowledgeDocument extends Pick<Knowledge, 'fields' | 'embeddingModel'> {
  readonly placed: readonly PlacedEntry[];
  readonly recordsFile: string | undefined;
  /** About so many tokens of entries may come with every search. */
  readonly alwaysTokens: number | undefined;
  readonly notes: Notes;
}

const lists = ['records', 'entries', 'data'];
/** Members of character cards that hold a lorebook. */
const holders = ['data', 'character_book', 'characterBook'];
const members = ['embedding_model', 'fields', 'records', 'records_file', 'always_tokens'];
/** Members of a lorebook that hold for all its entries. */
const bookMembers = ['scan_depth', 'token_budget', 'recursive_scanning'];

/**
 * Reads a list of records, an object with records, a lorebook, or a character card, in pieces between which the event loop runs.
 * @param name its path in messages.
 * @param maxEntries reading stops above it.
 * @throws Fault INVALID_STRING_STORAGE_DATA with line and column, LIMIT_EXCEEDED.
 */
async function readDocument(bytes: Uint8Array, name: string, maxEntries: number): Promise<KnowledgeDocument> {
  const yieldToOthers = createYielder();
  const notes = new Notes();
  const isImage = /\.png$/i.test(name) || isPng(bytes);
  const source = new JsonSource(isImage ? cardInPng(bytes, name, (warning) => notes.say(warning)) : bytes, name);
  const reader = new DocumentReader(source, notes);
  for (const slice of source.slices(lists, holders)) {
    await reader.read(slice);
    if (reader.placed.length > maxEntries)
      throw new Fault('LIMIT_EXCEEDED', `"${name}" has more than ${maxEntries} entries, and no more are allowed`);
    if (reader.problems.length >= maxProblems) break;
    await yieldToOthers();
  }
  if (reader.problems.length > 0) throw new InvalidEntries(reader.problems.slice(0, maxProblems));
  return reader.finish(name);
}

const isBookList = (member: string): boolean => member === 'data' || /(?:^|\/)entries$/.test(member);

class DocumentReader {
  readonly placed: PlacedEntry[] = [];
  /** What is wrong with entries, each with its place. */
  readonly problems: string[] = [];
  readonly #source: JsonSource;
  readonly #notes: Notes;
  /** The first slice of each known member. */
  readonly #found = new Map<string, JsonSlice>();
  /** The members that are numbers and hold for all entries. */
  readonly #ofBook = new Map<string, number>();
  #isCard = false;
  #unknown: JsonSlice | undefined;
  #fields: readonly KnowledgeField[] | undefined;
  #embeddingModel: string | undefined;
  #recordsFile: string | undefined;

  constructor(source: JsonSource, notes: Notes) {
    this.#source = source;
    this.#notes = notes;
  }

  async read(slice: JsonSlice): Promise<void> {
    if (slice.key === undefined) return this.#readMember(slice);
    const value = this.#source.parse(slice);
    const isBare = slice.member === '' && isObject(value) && !Object.hasOwn(value, 'text') && 'content' in value;
    const isLore = isBookList(slice.member) || isBare;
    const placed = { source: this.#source, slice, isLore };
    const note = (pointer: string, problem: string): void => this.#notes.add(placed, pointer, problem);
    const reading = await (isLore ? readLorebookEntry(value, note) : readRecord(value));
    if (!reading.ok) this.problems.push(...reading.errors.map((error) => this.#source.faultIn(slice, error).message));
    else if (reading.value) this.placed.push({ ...placed, entry: reading.value });
  }

  finish(name: string): KnowledgeDocument {
    const found = (member: string): boolean => this.#found.has(member);
    const book = [...this.#found.keys()].find(isBookList);
    // A lorebook has other members too, such as its name; they are not needed.
    const other = book === undefined ? this.#unknown : members.map((member) => this.#found.get(member)).find(Boolean);
    const isKnown = found('') || book !== undefined || found('records') || found('records_file');
    if (!isKnown && this.#isCard)
      throw invalidStorage(`${name} is a character card without a lorebook (character_book); give a file that has one`);
    if (other) {
      const hint = book === undefined ? didYouMean(other.member, members) : ` next to "${book}"`;
      throw this.#source.faultIn(other, { message: `is not known here${hint}` });
    }
    const [records, recordsFile] = [this.#found.get('records'), this.#found.get('records_file')];
    if (records && recordsFile)
      throw this.#source.faultIn(recordsFile, { message: 'excludes records; give one or the other' });
    if (!isKnown) throw invalidStorage(`${name} must have "records", "records_file", or, as a lorebook, "entries"`);
    if (book !== undefined && this.placed.length === 0) this.#notes.say(`${name} has no entry that can be used`);
    const depth = this.#ofBook.get('scan_depth');
    return {
      placed: depth === undefined ? this.placed : this.placed.map((item) => withDepth(item, depth)),
      fields: this.#fields,
      embeddingModel: this.#embeddingModel,
      recordsFile: this.#recordsFile,
      alwaysTokens: this.#ofBook.get('always_tokens') ?? this.#ofBook.get('token_budget'),
      notes: this.#notes,
    };
  }

  #readMember(slice: JsonSlice): void {
    const { member, opensList } = slice;
    const name = member.slice(member.lastIndexOf('/') + 1);
    if (![...members, ''].includes(member) && !(isBookList(member) && (opensList || member === 'entries'))) {
      this.#unknown ??= slice;
      this.#isCard ||= member.startsWith('data/') || ['spec', 'first_mes', 'character_book'].includes(member);
      if (bookMembers.includes(name)) this.#readOfBook(slice, name);
      return;
    }
    if (this.#found.has(member)) throw this.#source.faultIn(slice, { message: 'is there twice; remove one' });
    this.#found.set(member, slice);
    if (opensList) return;
    const fail = (message: string): Fault => this.#source.faultIn(slice, { message });
    const value = this.#source.parse(slice);
    if (member === 'fields') {
      const fields = readFields(value);
      if (!fields.ok) throw this.#source.faultIn(slice, fields.errors[0]);
      this.#fields = fields.value;
    } else if (member === 'always_tokens') {
      if (typeof value !== 'number' || !(value >= 0)) throw fail('must be a number from 0');
      this.#ofBook.set(member, value);
    } else if (lists.includes(member)) throw fail('must be a list');
    else if (typeof value !== 'string' || value === '') throw fail('must be a string that is not empty');
    else if (member === 'embedding_model') this.#embeddingModel = value;
    else this.#recordsFile = value;
  }

  #readOfBook(slice: JsonSlice, name: string): void {
    const value = this.#source.parse(slice);
    if (typeof value !== 'boolean' && Number(value) > 0) this.#ofBook.set(name, Number(value));
    else if (value) this.#notes.add({ source: this.#source, slice }, '', 'is not used');
  }
}

/** An entry of a lorebook with the depth of all its entries, unless it has its own. */
const withDepth = (item: PlacedEntry, depth: number): PlacedEntry => ({
  ...item,
  entry: { ...item.entry, rules: { ...defaultRules, ...item.entry.rules, depth: item.entry.rules?.depth ?? depth } },
});
