import { randomUUID } from 'node:crypto';
import { didYouMean } from '../../../base/didYouMean.ts';
import type { CreateStringStorageRequest, StorageEntry } from '../../../protocol/frames.gen.ts';
import { maxEntriesBytes } from '../../../protocol/frameSize.ts';
import { describePointer, escapePointerToken } from '../../../base/jsonPointer.ts';
import { isObject } from '../../../base/jsonTypes.ts';
import { invalid, type ReadResult } from '../../../protocol/schema.ts';
import type { Knowledge, KnowledgeEntry } from './knowledge.ts';
import { canMatch, fieldsReader, isStringList, readMetadata } from './knowledge.ts';
import { Fault } from '../../../protocol/fault.ts';
import { parseUniqueJson } from '../../../base/jsonLocations.ts';
import { invalidStorage } from '../invalidStorage.ts';
import { patternErrors } from '../patternSet.ts';

const maxIdLength = 256;

/** Reads a record of a knowledge file; errors have the pointer `/member`. @param apart id and text from elsewhere. */
export async function readRecord(
  value: unknown,
  apart?: { id: string; text: string },
): Promise<ReadResult<KnowledgeEntry>> {
  const described = [...(apart ? [] : ['"id"', '"text"']), '"metadata"?', '"keys"?', '"always"?'];
  if (!isObject(value)) return invalid('', `must be an object {${described.join(', ')}}`);
  const names = described.map((name) => name.replaceAll(/["?]/g, ''));
  const unknown = Object.keys(value).find((name) => !names.includes(name));
  if (unknown !== undefined)
    return invalid(escapePointerToken(unknown), `is not known here${didYouMean(unknown, names)}`);
  const { id, text, ...rest }: Readonly<Record<string, unknown>> = { ...value, ...apart };
  if (id === undefined) return invalid('/id', 'is missing');
  if (typeof id !== 'string' || id === '' || id.length > maxIdLength)
    return invalid('/id', `must be a string of 1 to ${maxIdLength} characters`);
  if (text === undefined) return invalid('/text', 'is missing');
  if (typeof text !== 'string' || text.trim() === '') return invalid('/text', 'must be a string that is not empty');
  const keys = rest['keys'] ?? [];
  const always = rest['always'] ?? false;
  if (!isStringList(keys) || !keys.every(canMatch))
    return invalid('/keys', 'must be a list of strings, none of them empty');
  const errors = await patternErrors(keys.map((key, index) => [key, `/keys/${index}`]));
  if (errors.length > 0) return { ok: false, errors };
  if (typeof always !== 'boolean') return invalid('/always', 'must be true or false');
  const metadata = readMetadata(rest['metadata'] ?? {});
  return metadata.ok ? { ok: true, value: { id, text, metadata: metadata.value, keys, always } } : metadata;
}

export type EntryRecord = Partial<Omit<KnowledgeEntry, 'keysOnly' | 'rules'>> & { readonly metadataJson?: string };

/**
 * Reads entries that are added to a storage. One without an id, or with "", gets one.
 * @param records as in a knowledge file, or, as in a request, with the metadata as text.
 * @param place what messages call the list.
 * @param maxBytes of an entry; default: those of one that can be exported.
 * @throws Fault INVALID_STRING_STORAGE_DATA that names the first entry that cannot be used, LIMIT_EXCEEDED for a large one.
 */
export async function readEntries(
  records: readonly EntryRecord[],
  { fields }: Pick<Knowledge, 'fields'>,
  place: string,
  maxBytes = maxEntriesBytes,
): Promise<readonly KnowledgeEntry[]> {
  const withFields = fieldsReader(fields);
  const ids = new Set<string>();
  const entries: KnowledgeEntry[] = [];
  for (const [index, { metadataJson = '', ...given }] of records.entries()) {
    const onProblem = (problem: string): Fault => invalidStorage(`${place}[${index}].metadata ${problem}`);
    const metadata = metadataJson === '' ? given.metadata : parseUniqueJson(metadataJson, onProblem);
    if (metadata === null) throw onProblem('must be an object, not null');
    const id = given.id || randomUUID();
    const record = await readRecord({ ...given, metadata, id });
    const reading = record.ok ? (ids.has(id) ? sameId(id) : withFields(record.value)) : record;
    if (!reading.ok) {
      const { pointer = '', message = 'is invalid' } = reading.errors[0] ?? {};
      throw invalidStorage(`${place}[${index}]${describePointer(pointer)} ${message}`);
    }
    ids.add(id);
    const { bytes } = entryForClient(reading.value);
    const has = `has ${bytes} bytes with its id and all its metadata, and ${maxBytes} are allowed`;
    if (bytes > maxBytes) throw new Fault('LIMIT_EXCEEDED', `${place}[${index}] ${has}; divide it`);
    entries.push(reading.value);
  }
  return entries;
}

/** An entry as clients get and send it, and its bytes in a frame. */
export function entryForClient({ id, text, metadata, keys, always }: KnowledgeEntry) {
  const metadataJson = Object.keys(metadata).length > 0 ? JSON.stringify(metadata) : '';
  const entry: StorageEntry = { id, text, metadataJson, keys, always };
  return { entry, bytes: Buffer.byteLength(JSON.stringify(entry)) };
}

/** The error of an entry whose id another one has; its pointer is relative to the entry. */
export const sameId = (id: string): ReadResult<never> =>
  invalid('/id', `is "${id}", as that of an earlier entry; give it another one`);

/**
 * Reads the entries of a request: metadataJson has one `{"metadata"?, "keys"?, "always"?}` per string, "" = nothing;
 * [] = nothing for all.
 * @param name its name in messages.
 * @throws Fault INVALID_STRING_STORAGE_DATA with the index of the entry, LIMIT_EXCEEDED.
 */
export async function entriesOfRequest(
  { strings, keys, metadataJson, entries }: CreateStringStorageRequest,
  name: string,
): Promise<readonly KnowledgeEntry[]> {
  if (entries.length > 0) {
    if (strings.length + keys.length + metadataJson.length > 0)
      throw invalidStorage(`${name} has entries, and strings, keys or metadataJson; give one or the other`);
    return readEntries(entries, { fields: undefined }, `${name}: entries`);
  }
  if (keys.length !== strings.length)
    throw invalidStorage(
      `${name} has ${strings.length} strings and ${keys.length} keys; each string needs a key, its id`,
    );
  if (metadataJson.length > 0 && metadataJson.length !== strings.length)
    throw invalidStorage(
      `${name} has ${strings.length} strings and ${metadataJson.length} metadataJson; give one per string, or none at all`,
    );
  const ids = new Set<string>();
  const read: KnowledgeEntry[] = [];
  for (const [index, text] of strings.entries()) {
    const json = metadataJson[index] ?? '';
    const subject = `${name}: metadataJson[${index}]`;
    const value = json === '' ? {} : parseUniqueJson(json, (problem) => invalidStorage(`${subject} ${problem}`));
    const id = keys[index] ?? '';
    const record = await readRecord(value, { id, text });
    const reading = record.ok && ids.size === ids.add(id).size ? sameId(id) : record;
    const [error] = reading.ok ? [] : reading.errors;
    if (!reading.ok) throw invalidStorage(`${name}: ${subjectOf(error?.pointer ?? '', index)} ${error?.message}`);
    read.push(reading.value);
  }
  return read;
}

function subjectOf(pointer: string, index: number): string {
  if (pointer === '/id') return `keys[${index}]`;
  return pointer === '/text' ? `strings[${index}]` : `metadataJson[${index}]${describePointer(pointer)}`;
}
