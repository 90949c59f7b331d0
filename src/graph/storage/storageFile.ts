import { Fault } from '../../protocol/fault.ts';
import { invalidStorage } from './invalidStorage.ts';
import { describeFsError, readRegularFile, decodeUtf8 } from '../../base/filesystem.ts';
import { findDuplicateKeys, locateInJson, parseJson } from '../../base/jsonLocations.ts';
import { escapePointerToken } from '../../base/jsonPointer.ts';
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
  return createMap(kind, kind === 'MAP' ? parseMap(text, name) : parseRecords(text, name), name);
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
  if (Array.isArray(value)) return checkUnique(parseRecords(json, name), json, name);
  if (!isObject(value))
    throw invalidStorage(`${name} must be a JSON object of strings, or a JSON array of {"id", "text"}`);
  const [twice] = findDuplicateKeys(json);
  if (twice)
    throw invalidStorage(
      `${name}, ${twice.place}: the key "${twice.name}" is there twice; remove one, or make it a .mm.json`,
    );
  return Object.entries(value).map(([key, text]) => {
    const hint = ['spec', 'data', 'entries'].includes(key) ? '; name a lorebook or a character card .kb.json' : '';
    const problem = `the value of "${key}" must be a string${hint}`;
    if (typeof text !== 'string') throw invalidAt(escapePointerToken(key), problem, json, name);
    return { key, text };
  });
}

/** The error of what a pointer names in a file. */
const invalidAt = (pointer: string, problem: string, json: string, name: string): Fault =>
  invalidStorage(`${name}, ${locateInJson(json).positionOf(pointer)}: ${problem}`);

function checkUnique(entries: MapEntry[], json: string, name: string): MapEntry[] {
  const indexes = new Map<string, number>();
  for (const [index, { key }] of entries.entries()) {
    const first = indexes.get(key);
    const problem = `[${index}] has the id "${key}", as [${first}] has; give it another one, or name the file .mm.json`;
    if (first !== undefined) throw invalidAt(`/${index}/id`, problem, json, name);
    indexes.set(key, index);
  }
  return entries;
}

function parseRecords(json: string, name: string): MapEntry[] {
  const value = readJson(json, name);
  if (!Array.isArray(value)) throw invalidStorage(`${name} must be a JSON array of {"id", "text"}`);
  return value.map((record: unknown, index) => {
    const { id, text } = isObject(record) ? record : {};
    if (typeof id !== 'string' || typeof text !== 'string')
      throw invalidAt(`/${index}`, `[${index}] must be {"id": string, "text": string}`, json, name);
    return { key: id, text };
  });
}
