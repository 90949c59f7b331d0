import { Fault } from '../../protocol/fault.ts';
import { invalidStorage } from './invalidStorage.ts';
import { describeFsError, readRegularFile, decodeUtf8 } from '../../base/filesystem.ts';
import { findDuplicateKeys, parseJson } from '../../base/jsonLocations.ts';
import { isObject } from '../../base/jsonTypes.ts';
import { createList, createMap, type MapEntry, type StorageKind, type StringStorage } from './stringStorage.ts';

/** The kind of storage in a file, by its extension in any case: `.txt`, `.json`, `.mm.json`, `.kb.json` or `.png`; undefined for others. */
export function kindOfFile(path: string): StorageKind | undefined {
  if (/\.txt$/i.test(path)) return 'LIST';
  if (/\.mm\.json$/i.test(path)) return 'MULTIMAP';
  if (/\.(?:kb\.json|png)$/i.test(path)) return 'KNOWLEDGE';
  return /\.json$/i.test(path) ? 'MAP' : undefined;
}

/**
 * Reads and parses a storage file that is no KNOWLEDGE.
 * @param name its path in messages.
 * @throws Fault STORAGE_FILE_NOT_FOUND when it cannot be read, INVALID_STRING_STORAGE_DATA when its content is invalid.
 */
export async function readStorageFile(
  file: string,
  kind: Exclude<StorageKind, 'KNOWLEDGE'>,
  name: string,
): Promise<StringStorage> {
  const text = decodeUtf8(await readBytes(file, name));
  if (text === undefined) throw invalidStorage(`${name} is not UTF-8; save it as UTF-8`);
  if (kind === 'LIST') return parseLines(text, name);
  return createMap(kind, kind === 'MAP' ? parseMap(text, name) : parseRecords(readJson(text, name), name), name);
}

/** Reads the bytes of a storage file. @throws Fault LIMIT_EXCEEDED, STORAGE_FILE_NOT_FOUND when it cannot be read. */
export const readBytes = (file: string, name: string, maxBytes = Infinity): Promise<Uint8Array> =>
  readRegularFile(file, maxBytes).catch((cause: NodeJS.ErrnoException) => {
    if (cause.code === 'EFBIG')
      throw new Fault('LIMIT_EXCEEDED', `"${name}" is too large: ${maxBytes} bytes are allowed`, { cause });
    throw new Fault('STORAGE_FILE_NOT_FOUND', `"${name}" cannot be read: ${describeFsError(cause)}`, { cause });
  });

function parseLines(text: string, name: string): StringStorage {
  const lines = text.split(/\r\n|\n|\r/).map((line) => line.trim());
  const used = [...lines.keys()].filter((index) => /^[^#]/.test(lines[index] ?? ''));
  const strings = used.map((index) => lines[index] ?? '');
  return createList(strings, (index) => `(${name}, line ${(used[index] ?? 0) + 1})`);
}

const readJson = (text: string, name: string): unknown =>
  parseJson(text, (problem, cause) => invalidStorage(`${name} ${problem}`, cause));

/** A map is written as an object of texts, or as the list of entries that a multimap is, with each id once. */
function parseMap(json: string, name: string): MapEntry[] {
  const value = readJson(json, name);
  if (Array.isArray(value)) return checkUnique(parseRecords(value, name), name);
  if (!isObject(value))
    throw invalidStorage(`${name} must be a JSON object of strings, or a JSON array of {"id", "text"}`);
  const [twice] = findDuplicateKeys(json);
  if (twice)
    throw invalidStorage(
      `${name}, ${twice.place}: the key "${twice.name}" is there twice; remove one, or make it a .mm.json`,
    );
  return Object.entries(value).map(([key, text]) => {
    const hint = ['spec', 'data', 'entries'].includes(key) ? '; name a lorebook or a character card .kb.json' : '';
    if (typeof text !== 'string') throw invalidStorage(`${name}: the value of "${key}" must be a string${hint}`);
    return { key, text };
  });
}

function checkUnique(entries: MapEntry[], name: string): MapEntry[] {
  const indexes = new Map<string, number>();
  for (const [index, { key }] of entries.entries()) {
    const first = indexes.get(key);
    if (first !== undefined)
      throw invalidStorage(
        `${name}[${index}] has the id "${key}", as ${name}[${first}] has; give it another one, or name the file .mm.json`,
      );
    indexes.set(key, index);
  }
  return entries;
}

function parseRecords(value: unknown, name: string): MapEntry[] {
  if (!Array.isArray(value)) throw invalidStorage(`${name} must be a JSON array of {"id", "text"}`);
  return value.map((record: unknown, index) => {
    const { id, text } = isObject(record) ? record : {};
    if (typeof id !== 'string' || typeof text !== 'string')
      throw invalidStorage(`${name}[${index}] must be {"id": string, "text": string}`);
    return { key: id, text };
  });
}
