import { posix } from 'node:path';
import { createYielder } from '../../../base/eventLoop.ts';
import { Fault } from '../../../protocol/fault.ts';
import type { SchemaError } from '../../../protocol/schema.ts';
import { invalidStorage } from '../invalidStorage.ts';
import { findMetadataError, type Knowledge, type KnowledgeEntry, type KnowledgeField } from './knowledge.ts';
import { readDocument, type PlacedEntry } from './knowledgeDocument.ts';
import { EntryChecker } from './entries.ts';

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
