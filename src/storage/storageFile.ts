import { readFile } from 'node:fs/promises';
import { Fault } from '../fault.ts';
import { invalid, listOf, mapOf, type Entry, type StorageKind, type StringStorage } from './stringStorage.ts';

/** The kind of storage that a file of this name holds, by its ending; undefined for other endings. */
export function kindOfFile(path: string): StorageKind | undefined {
  if (path.endsWith('.txt')) return 'LIST';
  if (path.endsWith('.mm.json')) return 'MULTIMAP';
  return path.endsWith('.json') ? 'MAP' : undefined;
}

/** Reads a storage file. @throws Fault INVALID_STRING_STORAGE_DATA that names the file and the mend. */
export async function readStorageFile(file: string, kind: StorageKind, name: string): Promise<StringStorage> {
  const text = textOf(await bytesOf(file, name), name);
  switch (kind) {
    case 'LIST':
      return listOf(linesOf(text));
    case 'MAP':
      return mapOf(kind, pairsOf(jsonOf(text, name), name), name);
    case 'MULTIMAP':
      return mapOf(kind, recordsOf(jsonOf(text, name), name), name);
    default:
      return kind satisfies never;
  }
}

const bytesOf = (file: string, name: string): Promise<Uint8Array> =>
  readFile(file).catch((cause: NodeJS.ErrnoException) => {
    throw new Fault('STORAGE_FILE_NOT_FOUND', `"${name}" cannot be read: ${cause.code ?? cause.message}`, { cause });
  });

// The decoder swallows a byte order mark.
function textOf(bytes: Uint8Array, name: string): string {
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes);
  } catch (cause) {
    throw invalid(`${name} is not UTF-8; save it as UTF-8`, cause);
  }
}

const linesOf = (text: string): string[] =>
  text
    .split(/\r\n|\n|\r/)
    .map((line) => line.trim())
    .filter((line) => line !== '' && !line.startsWith('#'));

function jsonOf(text: string, name: string): unknown {
  try {
    return JSON.parse(text);
  } catch (cause) {
    throw invalid(`${name} is no JSON: ${cause instanceof Error ? cause.message : String(cause)}`, cause);
  }
}

function pairsOf(value: unknown, name: string): Entry[] {
  if (!isObject(value)) throw invalid(`${name} must be a JSON object of strings`);
  return Object.entries(value).map(([key, text]) => {
    if (typeof text !== 'string') throw invalid(`${name}: the value of "${key}" must be a string`);
    return { key, text };
  });
}

function recordsOf(value: unknown, name: string): Entry[] {
  if (!Array.isArray(value)) throw invalid(`${name} must be a JSON array of {"id", "text"}`);
  return value.map((record: unknown, index) => {
    const { id, text } = isObject(record) ? record : {};
    if (typeof id !== 'string' || typeof text !== 'string')
      throw invalid(`${name}[${index}] must be {"id": string, "text": string}`);
    return { key: id, text };
  });
}

const isObject = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);
